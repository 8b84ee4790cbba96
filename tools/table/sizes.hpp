// Bytes, counts and bandwidths of the rows, by nccl-tests' rules.
#pragma once

#include <cstddef>
#include <vector>

namespace heddle::table {

// The sizes from min to max: multiplied by `factor` if it is above 1, else `step` bytes apart.
std::vector<std::size_t> size_steps(std::size_t min, std::size_t max, std::size_t step,
                                    std::size_t factor);

// Elements of one part of a buffer of `bytes` in all: a collective with one part takes them all;
// with a part for each rank, a part is rounded down to a multiple of 16 bytes.
std::size_t part_count(std::size_t bytes, std::size_t element_bytes, std::size_t parts);

// Factors from algorithm to bus bandwidth: the share of the buffer that crosses a rank's link when
// every rank's part goes to all others once, or twice (reduced and then spread), or all of it goes.
constexpr double moved_once(int ranks) { return 1.0 * (ranks - 1) / ranks; }
constexpr double moved_twice(int ranks) { return 2.0 * (ranks - 1) / ranks; }
constexpr double all_moved(int) { return 1; }

}  // namespace heddle::table
