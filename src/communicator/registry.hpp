// What a program made and holds handles of: memory from heddleMemAlloc, registered buffers, and
// pre-scaled sums.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/types.hpp"
#include "transport/pipe.hpp"

namespace heddle::communicator {

// Any thread. Fails as device::allocate_host does.
void* allocate_memory(std::size_t bytes);
// Null is allowed. Fails with heddleInvalidArgument for a pointer that allocate_memory did not
// give.
void free_memory(void* pointer);

// The buffers that a program registered with one communicator, by handle. Any thread.
//
// The transport between hosts is told too: where adapters must know memory (FI_MR_LOCAL) they know
// such a buffer once, and other memory for each message.
class Registrations {
 public:
  // `fabric` may be null. Fails with heddleInvalidArgument for no buffer, no bytes, or an end past
  // the address space; with heddleSystemError when an adapter refuses the buffer.
  void* add(void* buffer, std::size_t bytes, transport::Transport* fabric);
  // Fails with heddleInvalidArgument for a handle that add did not give, or that is removed.
  void remove(void* handle);

 private:
  struct Buffer {
    std::shared_ptr<const void> registered;  // with the transport
  };
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Buffer>> buffers_;
};

// The sums that a program made for one communicator (heddleRedOpCreatePreMulSum). Any thread.
class PreScaledSums {
 public:
  struct Sum {
    base::DataType type;
    std::array<std::byte, 8> scale;  // one element of the type
  };
  heddleRedOp_t add(const void* scale, base::DataType type);
  // Fail with heddleInvalidArgument for an operation that add did not give, or that is removed.
  Sum find(heddleRedOp_t op) const;
  void remove(heddleRedOp_t op);

 private:
  mutable std::mutex mutex_;
  int last_ = heddleNumOps - 1;
  std::map<int, Sum> sums_;
};

}  // namespace heddle::communicator
