// Arithmetic that algorithms with a logarithm of steps share.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace heddle::collectives {

constexpr int floor_log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
constexpr int lowest_bit(int n) { return n & -n; }

// Ranks that exchange with the rank whose number differs in one bit must be a power of two. So the
// `extra` ranks above one fold: each of the first 2 * extra ranks that is even lends its input to
// the next rank, which takes part for both. The others are the core, numbered in the order of the
// ranks. (Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.5.)
struct Fold {
  explicit constexpr Fold(int ranks)
      : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), extra(ranks - core) {}

  constexpr bool is_folded(int rank) const { return rank < 2 * extra && rank % 2 == 0; }
  // The rank that is folded into a core rank, or -1.
  constexpr int folded_into(int rank) const { return rank < 2 * extra ? rank - 1 : -1; }
  constexpr int number_of(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  constexpr int rank_of(int number) const {
    return number < extra ? 2 * number + 1 : number + extra;
  }

  int core;
  int extra;
};

// 0 .. n - 1 in the order in which a binary tree reaches them that goes far first: 0, the half, the
// quarters, ... Every number comes after the one without its lowest bit, its parent; the children
// of j are j + 2^k for all 2^k below j's lowest bit.
inline std::vector<int> far_first(int n) {
  std::vector<int> order{0};
  for (int k = floor_log2(n); k >= 0; --k)
    for (std::size_t i = 0, known = order.size(); i < known; ++i)
      if (const int child = order[i] + (1 << k); child < n) order.push_back(child);
  return order;
}

}  // namespace heddle::collectives
