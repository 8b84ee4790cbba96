// Pipes, each followed by its slots: whoever touches a pipe touches its next slot, and the first
// two lie in its cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "simulator/large_array.hpp"

namespace heddle::simulator {

template <typename Pipe, typename Slot>
class PipeArray {
  static_assert(std::is_trivially_destructible_v<Pipe> && std::is_trivially_destructible_v<Slot>);
  static_assert(sizeof(Pipe) % alignof(Slot) == 0);

 public:
  PipeArray(std::size_t pipes, std::size_t slots)
      : stride_((sizeof(Pipe) + slots * sizeof(Slot) + kLine - 1) / kLine * kLine),
        memory_(static_cast<std::byte*>(allocate_large((pipes + 1) * stride_))) {
    for (std::size_t i = 0; i < pipes; ++i) {
      std::byte* const at = memory_.get() + i * stride_;
      new (at) Pipe();
      for (std::size_t s = 0; s < slots; ++s) new (at + sizeof(Pipe) + s * sizeof(Slot)) Slot();
    }
  }

  Pipe& pipe(std::uint32_t index) {
    return *std::launder(reinterpret_cast<Pipe*>(memory_.get() + index * stride_));
  }
  Slot* slots(std::uint32_t index) {
    return std::launder(reinterpret_cast<Slot*>(memory_.get() + index * stride_ + sizeof(Pipe)));
  }
  void prefetch(std::uint32_t index) const {
    __builtin_prefetch(memory_.get() + index * stride_, 1);
  }

 private:
  static constexpr std::size_t kLine = 64;  // bytes
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::size_t stride_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace heddle::simulator
