// What reduce() asks of the vector code: one kernel for each way to store an element and each
// operation. Internal to this folder and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "device/reduce.hpp"

namespace heddle::device {

struct KernelArguments {
  const std::byte* const* sources;
  std::size_t source_count;  // at least one
  std::byte* const* destinations;
  std::size_t destination_count;  // at least one
  std::size_t count;              // elements
  std::size_t skip;               // elements to skip in every source, none in the destinations
  int divide_by;                  // kernels of integers require 1
  unsigned streaming;             // as in ReduceTask
  // As in ReduceTask; read by the kernels of scaled sums alone.
  const std::byte* scale = nullptr;
  int scaled_source = -1;
};

using Kernel = void (*)(const KernelArguments&);

// The kernels of one instruction set.
struct KernelTable {
  const char* target;
  Kernel reduce[heddleNumTypes][heddleNumOps];
  // The sum of the sources, one of them multiplied by the scale before.
  Kernel scaled_sum[heddleNumTypes];
  // From the one source to all destinations; counts bytes.
  Kernel copy;
};

// The table of the best instruction set of this processor that Highway allows now.
KernelTable resolve_kernels();
void fill_integer_kernels(KernelTable& table);
void fill_float_kernels(KernelTable& table);

// reduce() with the kernels of an instruction set of the caller's choice.
void reduce_with(const KernelTable& kernels, const ReduceTask& task);

}  // namespace heddle::device
