// Simulated time: whole picoseconds, so that the same input gives the same result everywhere.
#pragma once

#include <cmath>
#include <cstdint>

namespace heddle::simulator {

using Time = std::int64_t;  // ps; 2^63 are 106 days

inline Time from_seconds(double seconds) { return std::llround(seconds * 1e12); }
constexpr double to_seconds(Time time) { return static_cast<double>(time) * 1e-12; }

// How long bytes take at a bandwidth.
class Rate {
 public:
  Rate() = default;
  // Bytes per second; 0 or less takes no time.
  explicit Rate(double bandwidth) : ps_per_byte_(bandwidth > 0 ? 1e12 / bandwidth : 0) {}
  Time of(double bytes) const { return std::llround(bytes * ps_per_byte_); }

 private:
  double ps_per_byte_ = 0;
};

}  // namespace heddle::simulator
