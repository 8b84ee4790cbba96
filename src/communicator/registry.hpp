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

// The buffers that a program registered with one communicator, by handle. All pipes of today copy
// into their slots, so that the network is told nothing; a handle is checked and kept all the same,
// and a program that registers its buffers gains when pipes send from them. Any thread.
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
