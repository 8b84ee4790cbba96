// Runs a check on every instruction set that the kernels were compiled for and this machine has.
#pragma once

#include <hwy/targets.h>

#include <set>
#include <string>

#include "device/reduce.hpp"

namespace heddle::device {

// Names of the sets that were checked.
template <typename Check>
std::set<std::string> on_every_target(Check check) {
  std::set<std::string> seen;
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    // Sets that were not compiled fall back to the baseline.
    if (seen.insert(reduce_target()).second) check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return seen;
}

}  // namespace heddle::device
