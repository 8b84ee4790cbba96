// Our own words for CUDA's driver interface are right: they are compared with cuda.h, at compile
// time.
#include "device/cuda/abi.hpp"

#include <cuda.h>

#include <type_traits>

#include "catch.hpp"

namespace ours = heddle::device::cuda;

static_assert(sizeof(CUresult) == sizeof(ours::Result) && sizeof(CUdevice) == sizeof(ours::Device));
static_assert(sizeof(CUcontext) == sizeof(ours::Context));
static_assert(std::is_same_v<CUdeviceptr, ours::Address>);
static_assert(CUDA_SUCCESS == ours::kSuccess && CUDA_ERROR_INVALID_VALUE == ours::kInvalidValue);

constexpr bool same(ours::PointerAttribute a, CUpointer_attribute b) {
  return static_cast<int>(a) == static_cast<int>(b) && sizeof a == sizeof b;
}
static_assert(same(ours::PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(same(ours::PointerAttribute::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(same(ours::PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(CU_MEMORYTYPE_DEVICE == ours::kMemoryTypeDevice);

constexpr bool same(ours::DeviceAttribute a, CUdevice_attribute b) {
  return static_cast<int>(a) == static_cast<int>(b) && sizeof a == sizeof b;
}
static_assert(same(ours::DeviceAttribute::gpu_direct_rdma,
                   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED));
static_assert(same(ours::DeviceAttribute::flush_options,
                   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS));
static_assert(same(ours::DeviceAttribute::write_ordering,
                   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING));
static_assert(same(ours::DeviceAttribute::dmabuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED));
static_assert(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST == ours::kFlushFromHost);
static_assert(CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER == ours::kOrderingOwner);
static_assert(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX == ours::kFlushCurrentContext);
static_assert(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER == ours::kFlushToOwner);
static_assert(CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD == ours::kHandleIsDmabuf);

// The arguments, but for enums and the context's name, which are the same to a caller.
template <typename T>
struct Plain {
  using Type = T;
};
template <typename T>
requires std::is_enum_v<T>
struct Plain<T> {
  using Type = int;
};
template <>
struct Plain<CUcontext> {
  using Type = ours::Context;
};
template <>
struct Plain<CUcontext*> {
  using Type = ours::Context*;
};
template <typename T>
struct Signature;
template <typename Result, typename... Arguments>
struct Signature<Result (*)(Arguments...)> {
  using Type = int (*)(typename Plain<Arguments>::Type...);
};
template <typename Ours, typename Theirs>
constexpr bool same_call =
    std::is_same_v<typename Signature<Ours>::Type, typename Signature<Theirs>::Type>;

#define SAME_CALL(name) static_assert(same_call<decltype(ours::Functions::name), decltype(&::name)>)
SAME_CALL(cuInit);
SAME_CALL(cuGetErrorName);
SAME_CALL(cuGetErrorString);
SAME_CALL(cuDriverGetVersion);
SAME_CALL(cuDeviceGetCount);
SAME_CALL(cuDeviceGet);
SAME_CALL(cuDeviceGetAttribute);
SAME_CALL(cuPointerGetAttribute);
SAME_CALL(cuCtxGetCurrent);
SAME_CALL(cuCtxSetCurrent);
SAME_CALL(cuDevicePrimaryCtxRetain);
SAME_CALL(cuMemGetHandleForAddressRange);
SAME_CALL(cuFlushGPUDirectRDMAWrites);

#define STRINGIFIED(name) #name
#define NAME_IN_LIBRARY(name) STRINGIFIED(name)

TEST_CASE("the versioned name is the one that cuda.h stands for") {
  CHECK(std::string(NAME_IN_LIBRARY(cuDevicePrimaryCtxRelease)) == "cuDevicePrimaryCtxRelease_v2");
}
