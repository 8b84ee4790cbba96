// The arithmetic of one move over host memory: any number of sources reduced in the listed order
// into any number of destinations, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"

namespace heddle::device {

struct ReduceTask {
  std::span<const std::byte* const> sources;  // at least one
  std::span<std::byte* const> destinations;   // at least one
  std::size_t count;                          // elements
  base::DataType type;
  base::RedOp op;  // ignored with one source and divide_by 1
  // Divides the result, once, by this many ranks (avg); 1 for nothing. Integers round toward zero.
  int divide_by = 1;
  // The destinations whose bit is set are not read again soon: write them around the caches.
  unsigned streaming = 0;
  // Pre-scaled sums: the source of this index is multiplied by `scale`, one element of the type,
  // before it is added; op is sum or avg. float16, bfloat16 and the 8-bit floats are multiplied in
  // float32, where the product is exact but for overflow and underflow, and not rounded before the
  // addition; float32 and float64 round the product to their type; integers wrap. A lone source is
  // stored as its product, rounded.
  const std::byte* scale = nullptr;
  int scaled_source = -1;  // none
};

// Pointers need not be aligned. A destination may be the same memory as a source (never partly).
// float16, bfloat16 and the 8-bit floats accumulate in float32 and round once, to nearest even. avg
// adds like sum. An 8-bit float that is too large becomes the largest one, as heddle.h says.
// Thread-safe, allocates nothing.
void reduce(const ReduceTask& task);

// The instruction set that reduce() runs on, for the log: "AVX3", "AVX2", ...
const char* reduce_target();

}  // namespace heddle::device
