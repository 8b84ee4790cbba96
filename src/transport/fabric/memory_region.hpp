// Memory that a rail's domain knows. The registration belongs to the rail, which renews it when it
// needs a new domain; whoever asked for it holds a MemoryRegion, and its key never changes.
//
// Thread rule: as the rail.
#pragma once

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "transport/fabric/device_memory.hpp"
#include "transport/fabric/owners.hpp"

namespace heddle::transport::fabric {

// both: what is sent from, received into and written to by peers.
enum class Access { send, receive, remote_write, both };

struct Registration {
  std::byte* data;
  std::size_t bytes;
  Access access;
  std::uint64_t key;
  MemoryOwner owner;
  base::UniqueFd dmabuf;  // ours, where it may be registered again
  RegionOwner region;     // none while the rail has no domain
};
using Registrations = std::list<Registration>;

class MemoryRegion {
 public:
  MemoryRegion() = default;
  MemoryRegion(Registrations& all, Registrations::iterator mine) : all_(&all), mine_(mine) {}
  MemoryRegion(MemoryRegion&& other) noexcept
      : all_(std::exchange(other.all_, nullptr)), mine_(other.mine_) {}
  MemoryRegion& operator=(MemoryRegion&& other) noexcept {
    if (this != &other) {
      reset();
      all_ = std::exchange(other.all_, nullptr);
      mine_ = other.mine_;
    }
    return *this;
  }
  ~MemoryRegion() { reset(); }

  std::uint64_t key() const { return mine_->key; }
  // Of the domain that there is now.
  void* desc() const { return mine_->region ? fi_mr_desc(mine_->region.get()) : nullptr; }
  void reset() {
    if (all_ != nullptr) std::exchange(all_, nullptr)->erase(mine_);
  }

 private:
  Registrations* all_ = nullptr;
  Registrations::iterator mine_;
};

// Of one piece of memory, one a rail.
using Regions = std::vector<MemoryRegion>;

// What to hand libfabric with memory that `regions` describe; null needs nothing.
inline void* desc_of(const Regions* regions, int rail) {
  return regions == nullptr ? nullptr : (*regions)[static_cast<std::size_t>(rail)].desc();
}

}  // namespace heddle::transport::fabric
