// The program's buffers that are registered with every rail for as long as somebody holds them.
//
// Thread rule: under Core::mutex, but for what lease() returns.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "transport/fabric/rail.hpp"

namespace heddle::transport::fabric {

struct UserBuffer {
  std::byte* data;
  std::size_t bytes;
  Regions regions;
};

class UserBuffers {
 public:
  std::shared_ptr<const UserBuffer> add(std::span<const std::unique_ptr<Rail>> rails,
                                        std::byte* data, std::size_t bytes) {
    auto buffer = std::make_shared<UserBuffer>(UserBuffer{data, bytes, {}});
    for (const auto& rail : rails)
      buffer->regions.push_back(rail->register_memory(data, bytes, Access::send));
    buffers_.emplace(data, buffer);
    return buffer;
  }

  // One that holds all of these bytes, or null. Of buffers that overlap, it may miss some.
  std::shared_ptr<const UserBuffer> covering(const std::byte* data, std::size_t bytes) const {
    auto place = buffers_.upper_bound(data);
    for (int i = 0; i < kLookBack && place != buffers_.begin(); ++i) {
      --place;
      const UserBuffer& buffer = *place->second;
      if (data + bytes <= buffer.data + buffer.bytes) return place->second;
    }
    return nullptr;
  }

  // Keeps the core and the buffer; the last copy ends the registration, when no message needs it.
  // CoreType has a mutex and these user_buffers.
  template <typename CoreType>
  static std::shared_ptr<const void> lease(const std::shared_ptr<CoreType>& core,
                                           std::shared_ptr<const UserBuffer> buffer) {
    const void* const data = buffer->data;
    return {data, [core, buffer = std::move(buffer)](const void*) mutable {
              const std::lock_guard lock(core->mutex);
              core->user_buffers.remove(buffer);
              buffer.reset();
            }};
  }

 private:
  static constexpr int kLookBack = 8;

  void remove(const std::shared_ptr<const UserBuffer>& buffer) {
    const auto [first, last] = buffers_.equal_range(buffer->data);
    for (auto place = first; place != last; ++place)
      if (place->second == buffer) {
        buffers_.erase(place);
        return;
      }
  }

  std::multimap<const std::byte*, std::shared_ptr<const UserBuffer>> buffers_;
};

}  // namespace heddle::transport::fabric
