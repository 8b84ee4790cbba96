// Sizes as they are typed; table/sizes.hpp has the rest of nccl-tests' rules.
#pragma once

#include <cstddef>
#include <string_view>

#include "table/sizes.hpp"

namespace heddle::bench {

// "8", "64K", "1.5M", "2G" (powers of 1024) to bytes; false when malformed or past 2^62.
bool parse_bytes(std::string_view text, std::size_t& bytes);

using table::part_count;
using table::size_steps;

}  // namespace heddle::bench
