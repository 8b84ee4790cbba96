// The data of a row: what each rank contributes at each position, and what must come out. Computed
// from the rank and the position alone, so that the check needs nothing of the library.
//
// Values differ by rank, by position and by seed, and are chosen so that every order of reduction
// is exact in the type: small integers for sums (partial sums stay within the significand), signed
// powers of two for float products, odd numbers for integer products (which never collapse to 0).
// Only avg of floats is rounded, and is compared within 2 units in the last place; 1 for 8 bits.
//
// A position's value comes from a table with a prime period, turned by a fixed amount after each
// period: filling and checking are block copies and block compares, and a chunk that lands in the
// wrong place does not match (the whole repeats after period^2 = 16.7 million elements).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "heddle/heddle.hpp"

namespace heddle::bench {

inline constexpr std::size_t kPatternPeriod = 4093;

// What every byte of a receive buffer holds before: a NaN in every float type, -1 in every signed
// integer.
inline constexpr int kPoison = 0xff;
std::size_t wrong_poison(const void* got, std::size_t count, heddleDataType_t type);

// What `rank` multiplies its input by in a mulsum, as one element of the type: 1 or 2.
std::vector<std::byte> mulsum_scalar(heddleDataType_t type, int rank);

class Pattern {
 public:
  // No op: values that are only copied (all-gather).
  Pattern(heddleDataType_t type, std::optional<Op> op, int ranks, unsigned seed);

  // Writes `count` elements of `rank`'s contribution, starting with that of `position`.
  void fill(void* out, int rank, std::size_t position, std::size_t count) const;
  // Elements that differ from `rank`'s contribution, or from the reduction over all ranks.
  std::size_t wrong_copy(const void* got, int rank, std::size_t position, std::size_t count) const;
  std::size_t wrong_reduced(const void* got, std::size_t position, std::size_t count) const;

 private:
  using Table = std::vector<std::byte>;  // two periods, so that a period from any start lies whole

  Table contribution(int rank) const;

  heddleDataType_t type_;
  std::optional<Op> op_;
  int ranks_;
  unsigned seed_;
  Table reduced_;
};

}  // namespace heddle::bench
