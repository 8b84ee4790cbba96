// Whether other threads want the core that this one waits on, whoever they belong to.
#pragma once

#include <sys/resource.h>

#include <chrono>

#include "base/deadline.hpp"

namespace heddle::base {

// One for each thread, used by that thread alone.
class SharedCore {
 public:
  // How often the kernel ran another thread although this one could go on.
  using Switches = long (*)();
  SharedCore() : SharedCore(switches_of_this_thread) {}
  explicit SharedCore(Switches switches) : count_(switches), switches_(switches()) {}

  // True for a while after the kernel ran another thread in place of this one. It does that to a
  // thread that spins or yields only when the other is ready to run.
  bool wanted(Clock::time_point now) {
    if (now - looked_ >= kLookEvery) {
      // Who was preempted long ago, in the program's own work, is not wanted away now.
      const bool recent = now - looked_ <= kRemember;
      looked_ = now;
      const long seen = count_();
      if (recent && seen != switches_) until_ = now + kRemember;
      switches_ = seen;
    }
    return now < until_;
  }

 private:
  // A look costs about half a microsecond.
  static constexpr auto kLookEvery = std::chrono::microseconds(50);
  // Some time slices of the kernel's scheduler.
  static constexpr auto kRemember = std::chrono::milliseconds(20);

  // sched_yield counts among the involuntary ones, and only when it led to a switch.
  static long switches_of_this_thread() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
  }

  Switches count_;
  long switches_;
  Clock::time_point looked_{};
  Clock::time_point until_{};
};

}  // namespace heddle::base
