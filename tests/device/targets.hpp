// Runs a check on every instruction set that the kernels were compiled for and this machine has.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "device/kernels.hpp"

namespace heddle::device {

inline const std::vector<KernelTable>& every_target() {
  static const std::vector<KernelTable> tables = [] {
    std::vector<KernelTable> found;
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      const std::int64_t target = left & -left;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(target);
      const KernelTable table = resolve_kernels();
      // A set that was not compiled gives the baseline's table once more.
      bool known = false;
      for (const KernelTable& other : found) known |= std::strcmp(other.target, table.target) == 0;
      if (!known) found.push_back(table);
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return found;
  }();
  return tables;
}

}  // namespace heddle::device
