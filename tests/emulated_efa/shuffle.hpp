// Delivery without order. Packets of one sender are numbered; each block of `window` numbers has a
// permutation that seed and block alone decide. A block is delivered in that order once all of it
// is here; what waits longer than `hold` for the rest of its block goes as far as it came, in the
// same relative order. So the order is the seed's wherever blocks fill within `hold`.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "script.hpp"

namespace emulated_efa {

// A well mixed function of its argument (Steele, Lea, Flood 2014, splitmix64).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Where each packet of a block goes: Fisher and Yates' shuffle.
inline std::vector<std::uint32_t> permutation(std::uint64_t seed, std::uint64_t block,
                                              std::uint32_t window) {
  std::vector<std::uint32_t> places(window);
  std::iota(places.begin(), places.end(), 0);
  std::uint64_t state = mix(seed ^ mix(block));
  for (std::uint32_t i = window - 1; i > 0; --i) {
    state = mix(state);
    std::swap(places[i], places[state % (i + 1)]);
  }
  return places;
}

template <typename Packet>
class Shuffle {
 public:
  Shuffle(std::uint64_t seed, std::uint32_t window, Nanoseconds hold)
      : seed_(seed), window_(window), hold_(hold) {}

  void arrived(Packet packet, std::uint64_t number, Clock::time_point now) {
    if (seed_ == 0 || window_ == 1) {
      due_.push_back(std::move(packet));
      return;
    }
    if (held_.empty()) oldest_ = now;
    const std::uint64_t block = number / window_;
    if (block != block_) places_ = permutation(seed_, *(block_ = block), window_);
    held_.emplace(block * window_ + places_[number % window_], std::move(packet));
    if (++seen_[block] == window_) {
      release(held_.lower_bound(block * window_), held_.lower_bound((block + 1) * window_));
      seen_.erase(block);
    }
  }

  // The next packet to deliver.
  std::optional<Packet> next(Clock::time_point now) {
    if (due_.empty() && !held_.empty() && now - oldest_ >= hold_)
      release(held_.begin(), held_.end());
    if (due_.empty()) return std::nullopt;
    Packet packet = std::move(due_.front());
    due_.pop_front();
    return packet;
  }

  // Waits for nothing any more.
  void flush() { release(held_.begin(), held_.end()); }

 private:
  using Held = std::map<std::uint64_t, Packet>;
  void release(typename Held::iterator first, typename Held::iterator last) {
    for (auto each = first; each != last; ++each) due_.push_back(std::move(each->second));
    held_.erase(first, last);
  }

  std::uint64_t seed_;
  std::uint32_t window_;
  Nanoseconds hold_;
  std::optional<std::uint64_t> block_;  // whose permutation is in places_
  std::vector<std::uint32_t> places_;
  Held held_;                                    // by place
  std::map<std::uint64_t, std::uint32_t> seen_;  // packets of a block so far
  std::deque<Packet> due_;
  Clock::time_point oldest_{};
};

}  // namespace emulated_efa
