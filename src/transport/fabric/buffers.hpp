// Registered buffers of one size for messages of ours that are no payload, while they are under
// way.
//
// Thread rule: under Core::mutex.
#pragma once

#include <deque>
#include <vector>

#include "transport/fabric/rail.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

class BufferPool;

struct ControlBuffer {
  std::byte* data;
  const Regions* regions;
  BufferPool* pool;
};

class BufferPool {
 public:
  // Buffers of `bytes`, header included; `at_once` more whenever there are too few.
  BufferPool(std::size_t bytes, std::size_t at_once)
      : stride_((bytes + 127) / 64 * 64), at_once_(at_once) {}

  ControlBuffer& take(std::span<const std::unique_ptr<Rail>> rails) {
    if (free_.empty()) grow(rails);
    ControlBuffer& buffer = *free_.back();
    free_.pop_back();
    return buffer;
  }
  void give(ControlBuffer& buffer) { free_.push_back(&buffer); }

 private:
  void grow(std::span<const std::unique_ptr<Rail>> rails) {
    const Area& area = areas_.emplace_back(rails, at_once_ * stride_, Access::send);
    for (std::size_t i = 0; i < at_once_; ++i) {
      // The header ends on a cache line, as in a bounce buffer.
      std::byte* at = area.data() + i * stride_ + 64 - sizeof(Header);
      free_.push_back(&buffers_.emplace_back(ControlBuffer{at, area.regions(), this}));
    }
  }

  std::size_t stride_;
  std::size_t at_once_;
  std::deque<Area> areas_;
  std::deque<ControlBuffer> buffers_;
  std::vector<ControlBuffer*> free_;
};

}  // namespace heddle::transport::fabric
