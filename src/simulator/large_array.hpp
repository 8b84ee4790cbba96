// Arrays of millions that are read in no order: on huge pages, where the kernel has them, so that a
// cache miss is not a miss of the page table as well.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace heddle::simulator {

// Aligned to a cache line. Freed by std::free.
inline void* allocate_large(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  const std::size_t unit = bytes >= 2 * kHugePage ? kHugePage : kLine;
  const std::size_t whole = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, whole);
  if (memory == nullptr) throw std::bad_alloc();
  // Advice: a kernel without huge pages runs the same, more slowly.
  if (unit == kHugePage) madvise(memory, whole, MADV_HUGEPAGE);
  return memory;
}

template <typename Item>
struct LargeAllocator {
  using value_type = Item;
  LargeAllocator() = default;
  template <typename Other>
  LargeAllocator(const LargeAllocator<Other>&) {}
  Item* allocate(std::size_t count) {
    return static_cast<Item*>(allocate_large(count * sizeof(Item)));
  }
  void deallocate(Item* items, std::size_t) { std::free(items); }
  template <typename Other>
  bool operator==(const LargeAllocator<Other>&) const {
    return true;
  }
};

template <typename Item>
using LargeArray = std::vector<Item, LargeAllocator<Item>>;

}  // namespace heddle::simulator
