#include "memory.hpp"

namespace emulated_efa {

Region* Memory::add(const void* base, std::size_t bytes, std::uint64_t access, std::byte* reached) {
  if (bytes > most_ || pinned_ > most_ - bytes) return nullptr;
  // An odd factor makes this a permutation of all 32-bit numbers.
  const std::uint32_t key = serial_++ * 0x9e3779b1u;
  auto region = std::make_unique<Region>();
  region->mem_desc = region.get();
  region->key = key;
  region->base = static_cast<const std::byte*>(base);
  region->bytes = bytes;
  region->access = access;
  region->reached = reached;
  pinned_ += bytes;
  by_desc_.emplace(region.get(), region.get());
  return (by_key_[key] = std::move(region)).get();
}

void Memory::remove(Region* region) {
  pinned_ -= region->bytes;
  by_desc_.erase(region);
  by_key_.erase(static_cast<std::uint32_t>(region->key));
}

bool Memory::allows(void* desc, const void* at, std::size_t bytes, std::uint64_t access) const {
  const auto found = by_desc_.find(desc);
  return found != by_desc_.end() && (found->second->access & access) == access &&
         found->second->covers(reinterpret_cast<std::uint64_t>(at), bytes);
}

std::byte* Memory::reach(void* desc, const void* at) const {
  const Region& region = *by_desc_.at(desc);
  return region.reached + (static_cast<const std::byte*>(at) - region.base);
}

std::byte* Memory::target(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                          std::uint64_t access) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || (found->second->access & access) != access ||
      !found->second->covers(address, bytes))
    return nullptr;
  return found->second->reached + (address - reinterpret_cast<std::uint64_t>(found->second->base));
}

}  // namespace emulated_efa
