// What the stand-in for libcuda.so.1 exports beside CUDA's own names, found with dlsym.
#pragma once

#include <cstddef>

struct EmulatedCudaRange {
  int device;  // ordinal
  bool managed;
  bool whole;        // all of the range lies in one allocation
  std::byte* alias;  // where the host reaches it
};

extern "C" {
// Whether the memory's first byte is of an emulated device; then `range` is filled in.
using EmulatedCudaFind = int(const void* at, std::size_t bytes, EmulatedCudaRange* range);
// How often cuFlushGPUDirectRDMAWrites was called.
using EmulatedCudaFlushes = int();
// How often a device's primary context is held.
using EmulatedCudaContexts = int(int device);
}
