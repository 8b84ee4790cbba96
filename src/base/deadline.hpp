// A point in time by which something must have happened.
#pragma once

#include <algorithm>
#include <chrono>

namespace heddle::base {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

class Deadline {
 public:
  explicit Deadline(Seconds from_now)
      : at_(Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::min(from_now, kLongest))) {}

  bool passed() const { return Clock::now() >= at_; }
  Clock::time_point at() const { return at_; }
  // Milliseconds left for poll(2): 0 when passed, at most `most`.
  int poll_ms(int most) const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left + 1, 0, most));
  }

 private:
  // Some thirty years: further ahead the clock's count would overflow.
  static constexpr Seconds kLongest{1e9};
  Clock::time_point at_;
};

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace heddle::base
