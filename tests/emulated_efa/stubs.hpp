// What the emulated provider does not offer: every slot of an operations table needs a function,
// since libfabric's inline wrappers call without looking.
#pragma once

#include <rdma/fi_errno.h>

namespace emulated_efa {

template <typename Result, typename... Arguments>
Result unsupported(Arguments...) {
  return -FI_ENOSYS;
}

}  // namespace emulated_efa
