// Buffers that notice being touched outside.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/fd.hpp"

namespace heddle::device {

// `bytes` that start `offset` bytes behind a multiple of 64, between two zones of a known pattern.
class RedZoned {
 public:
  RedZoned(std::size_t bytes, std::size_t offset)
      : storage_(bytes + offset + 2 * kZone + 64, kPattern), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = (64 - address % 64) % 64 + kZone + offset;
  }
  std::byte* data() { return storage_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool intact() const {
    const auto is_pattern = [](std::byte b) { return b == kPattern; };
    const auto begin = storage_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), begin, is_pattern) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), is_pattern);
  }

 private:
  static constexpr std::size_t kZone = 128;
  static constexpr std::byte kPattern{0xa5};
  std::vector<std::byte> storage_;
  std::size_t bytes_;
  std::size_t begin_;
};

// One page between two that may not be touched at all, not even read.
class PageBetweenFaults {
 public:
  PageBetweenFaults() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* address = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw std::runtime_error("mmap failed");
    mapping_ = base::MappedMemory(address, 3 * page_);
    if (mprotect(begin(), page_, PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("mprotect failed");
    }
  }
  std::byte* begin() { return mapping_.data() + page_; }
  std::byte* end() { return begin() + page_; }

 private:
  std::size_t page_;
  base::MappedMemory mapping_;
};

}  // namespace heddle::device
