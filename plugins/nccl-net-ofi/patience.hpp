// How long comms wait for a process that lets go of nothing: the first one for a while, those
// closed soon after it hardly, so that aborting many comms takes little longer than aborting one.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/deadline.hpp"

namespace heddle::nccl_net {

class Patience {
 public:
  struct Wait {
    base::Deadline until;
    bool whole;
  };
  Wait begin(std::uint64_t process) {
    const std::lock_guard lock(mutex_);
    std::erase_if(in_vain_, [](const auto& one) { return one.second.passed(); });
    const bool whole = !in_vain_.contains(process);
    return {base::Deadline(whole ? kWhole : kShort), whole};
  }
  // It is over, and nothing was let go of.
  void was_in_vain(std::uint64_t process, const Wait& wait) {
    const std::lock_guard lock(mutex_);
    if (wait.whole) in_vain_.insert_or_assign(process, base::Deadline(kMemory));
  }

  static constexpr base::Seconds kWhole{2};
  static constexpr base::Seconds kShort{0.1};

 private:
  static constexpr base::Seconds kMemory{10};
  std::mutex mutex_;
  std::map<std::uint64_t, base::Deadline> in_vain_;
};

}  // namespace heddle::nccl_net
