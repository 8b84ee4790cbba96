// The few types and numbers of the CUDA driver's interface that we call, in our own words, so that
// nothing of CUDA is needed to build. tests/device/cuda/abi_test.cpp compares them with cuda.h
// where there is one.
#pragma once

#include <cstddef>

namespace heddle::device::cuda {

using Result = int;  // 0: success
using Device = int;  // an ordinal's handle
using Context = struct OpaqueContext*;
using Address = unsigned long long;  // of a device, and of the process

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kDeinitialized = 4;

enum class PointerAttribute : int { memory_type = 2, is_managed = 8, device_ordinal = 9 };
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

enum class DeviceAttribute : int {
  gpu_direct_rdma = 116,  // 0 or 1
  flush_options = 117,    // bits: kFlushFromHost
  write_ordering = 118,   // kOrderingOwner or more: no flush is needed for the device itself
  dmabuf = 124,           // 0 or 1
};
inline constexpr int kFlushFromHost = 1;
inline constexpr int kOrderingOwner = 100;
inline constexpr int kFlushCurrentContext = 0;
inline constexpr int kFlushToOwner = 100;
inline constexpr int kHandleIsDmabuf = 1;

// By the names that libcuda.so.1 exports. The last two may be absent: null.
// NOLINTBEGIN(readability-identifier-naming)
struct Functions {
  Result (*cuInit)(unsigned flags);
  Result (*cuGetErrorName)(Result, const char** text);
  Result (*cuGetErrorString)(Result, const char** text);
  Result (*cuDriverGetVersion)(int* version);
  Result (*cuDeviceGetCount)(int* count);
  Result (*cuDeviceGet)(Device*, int ordinal);
  Result (*cuDeviceGetAttribute)(int* value, DeviceAttribute, Device);
  Result (*cuPointerGetAttribute)(void* value, PointerAttribute, Address);
  Result (*cuCtxGetCurrent)(Context*);
  Result (*cuCtxSetCurrent)(Context);
  Result (*cuDevicePrimaryCtxRetain)(Context*, Device);
  Result (*cuDevicePrimaryCtxRelease_v2)(Device);

  Result (*cuMemGetHandleForAddressRange)(void* handle, Address, std::size_t bytes, int type,
                                          unsigned long long flags);  // from 11.7 on
  Result (*cuFlushGPUDirectRDMAWrites)(int target, int scope);        // from 11.3 on
};
// NOLINTEND(readability-identifier-naming)

}  // namespace heddle::device::cuda
