// How long to wait between tries of something that goes on failing.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/deadline.hpp"

namespace heddle::transport::fabric {

class Backoff {
 public:
  bool started() const { return seconds_ != 0; }
  base::Clock::duration pause() const {
    return std::chrono::duration_cast<base::Clock::duration>(base::Seconds(seconds_));
  }
  void start(double seconds) { seconds_ = seconds; }
  // Twice as long, from 1 to 30 s.
  void grow() { seconds_ = std::clamp(2 * seconds_, 1.0, 30.0); }
  void reset() { seconds_ = 0; }

 private:
  double seconds_ = 0;
};

}  // namespace heddle::transport::fabric
