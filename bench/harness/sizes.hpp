// Bytes and counts of the rows, by nccl-tests' rules.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace heddle::bench {

// "8", "64K", "1.5M", "2G" (powers of 1024) to bytes; false when malformed or past 2^62.
bool parse_bytes(std::string_view text, std::size_t& bytes);

// The sizes from min to max: multiplied by `factor` if it is above 1, else `step` bytes apart.
std::vector<std::size_t> size_steps(std::size_t min, std::size_t max, std::size_t step,
                                    std::size_t factor);

// Elements of one part of a buffer of `bytes` in all: a collective with one part takes them all;
// with a part for each rank, a part is rounded down to a multiple of 16 bytes.
std::size_t part_count(std::size_t bytes, std::size_t element_bytes, std::size_t parts);

}  // namespace heddle::bench
