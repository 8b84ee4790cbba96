// How long comms wait for a peer that lets go of nothing: the first one for a while, those closed
// soon after it hardly, so that aborting many comms takes no longer than aborting a few.
//
// Thread rule: any thread.
#pragma once

#include <atomic>

#include "base/deadline.hpp"

namespace heddle::nccl_net {

class Patience {
 public:
  base::Deadline begin() const {
    return base::Deadline(base::Clock::now() < short_until_.load() ? kShort : kWhole);
  }
  // Somebody has waited all the time and got nothing.
  void was_in_vain() {
    short_until_ = base::Clock::now() + std::chrono::duration_cast<base::Clock::duration>(kMemory);
  }

  static constexpr base::Seconds kWhole{2};

 private:
  static constexpr base::Seconds kShort{0.05};
  static constexpr base::Seconds kMemory{10};
  std::atomic<base::Clock::time_point> short_until_{base::Clock::time_point::min()};
};

}  // namespace heddle::nccl_net
