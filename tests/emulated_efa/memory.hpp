// Registered memory of one adapter: what may be used here (by descriptor) and by peers (by key).
// Keys have 32 bits and no order, and come again only after all others. Memory of a device is
// reached at another address than the one it is known by. Under the domain's lock.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "device_memory.hpp"

namespace emulated_efa {

class Domain;

struct Region : fid_mr {
  Domain* domain;
  const std::byte* base;
  std::size_t bytes;
  std::uint64_t access;
  std::byte* reached;  // where the bytes of `base` are
  Imported imported;   // of a dmabuf

  bool covers(std::uint64_t address, std::uint64_t length) const {
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    return address >= begin && length <= bytes && address - begin <= bytes - length;
  }
};

class Memory {
 public:
  explicit Memory(std::uint64_t most_bytes, std::uint32_t first_key)
      : most_(most_bytes), serial_(first_key) {}

  // Null when it would pin more than the script's memlock allows.
  Region* add(const void* base, std::size_t bytes, std::uint64_t access, std::byte* reached);
  void remove(Region* region);
  bool empty() const { return by_key_.empty(); }

  // Whether the descriptor is a live region that covers the memory and allows the access.
  bool allows(void* desc, const void* at, std::size_t bytes, std::uint64_t access) const;
  // Where memory that allows() was true for is reached.
  std::byte* reach(void* desc, const void* at) const;
  // The same for a peer: null when it is not allowed.
  std::byte* target(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                    std::uint64_t access) const;

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<Region>> by_key_;
  std::unordered_map<const void*, const Region*> by_desc_;
  std::uint64_t most_;
  std::uint64_t pinned_ = 0;
  std::uint32_t serial_;
};

}  // namespace emulated_efa
