// Simulated time: whole picoseconds, so that the same input gives the same result everywhere.
#pragma once

#include <cstdint>

namespace heddle::simulator {

using Time = std::int64_t;  // ps; 2^63 are 106 days

constexpr Time from_seconds(double seconds) { return static_cast<Time>(seconds * 1e12 + 0.5); }
constexpr double to_seconds(Time time) { return static_cast<double>(time) * 1e-12; }

// How long bytes take at a bandwidth.
class Rate {
 public:
  Rate() = default;
  // Bytes per second; 0 or less takes no time.
  explicit Rate(double bandwidth) : ps_per_byte_(bandwidth > 0 ? 1e12 / bandwidth : 0) {}
  Time of(double bytes) const { return static_cast<Time>(bytes * ps_per_byte_ + 0.5); }

 private:
  double ps_per_byte_ = 0;
};

}  // namespace heddle::simulator
