// Memory that the program got from heddleMemAlloc, and buffers that it registered.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace heddle::communicator {

// Any thread. Fails as device::allocate_host does.
void* allocate_memory(std::size_t bytes);
// Null is allowed. Fails with heddleInvalidArgument for a pointer that allocate_memory did not
// give.
void free_memory(void* pointer);

// The buffers that a program registered with one communicator, by handle. Any thread.
//
// Handles are checked and kept, and no transport is told yet: the providers that run today send
// from any memory, and one that wants local registration (FI_MR_LOCAL) registers for each message.
class Registrations {
 public:
  // Fails with heddleInvalidArgument for no buffer, no bytes, or an end past the address space.
  void* add(void* buffer, std::size_t bytes);
  // Fails with heddleInvalidArgument for a handle that add did not give, or that is removed.
  void remove(void* handle);

 private:
  struct Buffer {
    void* begin;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Buffer>> buffers_;
};

}  // namespace heddle::communicator
