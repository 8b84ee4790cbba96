// What reduce() asks of the vector code: one kernel for each way to store an element and each
// operation. Internal to this folder and its tests.
#pragma once

#include <cstddef>

#include "base/types.hpp"

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
};

using Kernel = void (*)(const KernelArguments&);

// The kernel of the best instruction set of this processor. avg gives the kernel of sum.
Kernel integer_kernel(base::DataType type, base::RedOp op);
Kernel float_kernel(base::DataType type, base::RedOp op);
// Copies bytes from the one source to all destinations.
Kernel copy_kernel();
const char* kernel_target();

}  // namespace heddle::device
