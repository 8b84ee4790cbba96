// The memory that a comm's user has registered with it.
//
// Thread rule: locks itself.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "transport/fabric/messages.hpp"

namespace heddle::nccl_net {

class Memory {
 public:
  explicit Memory(std::unique_ptr<transport::fabric::MessageMemory> known)
      : known_(std::move(known)) {}
  const transport::fabric::MessageMemory& known() const { return *known_; }

 private:
  std::unique_ptr<transport::fabric::MessageMemory> known_;
};

class Memories {
 public:
  Memory* add(std::unique_ptr<transport::fabric::MessageMemory> known) {
    const std::lock_guard lock(mutex_);
    return all_.emplace_back(std::make_unique<Memory>(std::move(known))).get();
  }
  void remove(const Memory* memory) {
    std::unique_ptr<Memory> removed;  // unregistered without the lock
    const std::lock_guard lock(mutex_);
    for (auto& one : all_)
      if (one.get() == memory) {
        removed = std::move(one);
        one = std::move(all_.back());
        all_.pop_back();
        return;
      }
    base::fail(heddleInvalidUsage, "the memory handle {} is none of this comm's",
               static_cast<const void*>(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> all_;
};

// Fails with heddleInvalidUsage where the handle does not hold the range.
inline const transport::fabric::MessageMemory& checked(const Memory* memory, const void* data,
                                                       std::size_t bytes) {
  if (memory == nullptr)
    base::fail(heddleInvalidUsage, "{} bytes at {}: the memory handle is null; register it first",
               bytes, data);
  const auto& known = memory->known();
  if (bytes != 0 && !known.holds(data, bytes))
    base::fail(heddleInvalidUsage,
               "{} bytes at {} are not in the memory of their handle, {} bytes at {}", bytes, data,
               known.bytes(), static_cast<const void*>(known.data()));
  return known;
}

}  // namespace heddle::nccl_net
