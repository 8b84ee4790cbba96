// How a thread waits: it keeps the core for a while, then yields it, then sleeps, longer and
// longer. With more threads than cores, spinning only keeps the peer from running: then it yields
// at once.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

#include "base/deadline.hpp"
#include "base/shared_core.hpp"

namespace heddle::communicator {

class Backoff {
 public:
  using Duration = base::Clock::duration;

  // Keeps the core for `spin`; when `considerate`, only while no other thread wants it.
  Backoff(Duration spin, bool considerate) : spin_(spin), considerate_(considerate) {}

  void reset() {
    spins_ = 0;
    waiting_ = false;
  }

  // Waits a little. True when it looked at the clock: time to check deadlines.
  bool pause() {
    if (spin_ > Duration::zero() && !yields_ && ++spins_ % kSpinsPerLook != 0) {
      relax();
      return false;
    }
    const auto now = base::Clock::now();
    if (!waiting_) since_ = now;
    waiting_ = true;
    const Duration waited_so_far = now - since_;
    yields_ = considerate_ && spin_ > Duration::zero() && core_of_this_thread().wanted(now);
    if (waited_so_far < spin_ && !yields_) return true;
    if (waited_so_far < spin_ + kYieldFor)
      sched_yield();
    else
      std::this_thread::sleep_for(waited_so_far < kLongWait ? kShortSleep : kLongSleep);
    return true;
  }

 private:
  static constexpr unsigned kSpinsPerLook = 32;
  // A sleep costs the waiter about 60 us more than it asked for: worth it only when the other side
  // is clearly away.
  static constexpr Duration kYieldFor = std::chrono::milliseconds(10);
  static constexpr Duration kLongWait = std::chrono::milliseconds(500);
  static constexpr auto kShortSleep = std::chrono::microseconds(20);
  static constexpr auto kLongSleep = std::chrono::microseconds(500);

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  static base::SharedCore& core_of_this_thread() {
    static thread_local base::SharedCore core;
    return core;
  }

  Duration spin_;
  bool considerate_;
  bool yields_ = false;
  unsigned spins_ = 0;
  bool waiting_ = false;
  base::Clock::time_point since_{};
};

}  // namespace heddle::communicator
