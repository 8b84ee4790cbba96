// Memory of emulated devices for tests. libcuda.so.1 must be the stand-in (emulated_cuda_folder in
// LD_LIBRARY_PATH).
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/abi.hpp"
#include "emulated_cuda/emulated_cuda.hpp"

namespace emulated_cuda {

namespace cuda = heddle::device::cuda;

template <typename Function>
Function* function(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}

inline void check(cuda::Result result, const char* what) {
  if (result != cuda::kSuccess) throw std::runtime_error(std::string(what) + " failed");
}

inline int flushes() { return function<EmulatedCudaFlushes>("emulated_cuda_flushes")(); }
inline int contexts(int device) {
  return function<EmulatedCudaContexts>("emulated_cuda_contexts")(device);
}

// HEDDLE_EMULATED_CUDA for as long as it lives.
class Setting {
 public:
  explicit Setting(const char* words) { setenv("HEDDLE_EMULATED_CUDA", words, 1); }
  Setting(const Setting&) = delete;
  ~Setting() { unsetenv("HEDDLE_EMULATED_CUDA"); }
};

class Memory {
 public:
  explicit Memory(std::size_t bytes, int device = 0, bool managed = false) : bytes_(bytes) {
    check(function<cuda::Result(unsigned)>("cuInit")(0), "cuInit");
    cuda::Context context = nullptr, before = nullptr;
    check(function<cuda::Result(cuda::Context*)>("cuCtxGetCurrent")(&before), "cuCtxGetCurrent");
    check(function<cuda::Result(cuda::Context*, int)>("cuDevicePrimaryCtxRetain")(&context, device),
          "cuDevicePrimaryCtxRetain");
    const auto set = function<cuda::Result(cuda::Context)>("cuCtxSetCurrent");
    check(set(context), "cuCtxSetCurrent");
    check(managed ? function<cuda::Result(cuda::Address*, std::size_t, unsigned)>(
                        "cuMemAllocManaged")(&address_, bytes, 1)
                  : function<cuda::Result(cuda::Address*, std::size_t)>("cuMemAlloc_v2")(&address_,
                                                                                         bytes),
          "allocation");
    check(set(before), "cuCtxSetCurrent");
    function<cuda::Result(int)>("cuDevicePrimaryCtxRelease_v2")(device);
  }
  Memory(const Memory&) = delete;
  ~Memory() { function<cuda::Result(cuda::Address)>("cuMemFree_v2")(address_); }

  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  std::size_t size() const { return bytes_; }

  // A descriptor of all of it, the caller's; -1 when CUDA refuses.
  int dmabuf() const {
    int fd = -1;
    function<cuda::Result(void*, cuda::Address, std::size_t, int, unsigned long long)>(
        "cuMemGetHandleForAddressRange")(&fd, address_, bytes_, cuda::kHandleIsDmabuf, 0);
    return fd;
  }

  void write(const std::vector<std::byte>& from, std::size_t at = 0) {
    check(function<cuda::Result(cuda::Address, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
              address_ + at, from.data(), from.size()),
          "cuMemcpyHtoD");
  }
  std::vector<std::byte> read(std::size_t at, std::size_t bytes) const {
    std::vector<std::byte> to(bytes);
    check(function<cuda::Result(void*, cuda::Address, std::size_t)>("cuMemcpyDtoH_v2")(
              to.data(), address_ + at, bytes),
          "cuMemcpyDtoH");
    return to;
  }

 private:
  cuda::Address address_ = 0;
  std::size_t bytes_;
};

}  // namespace emulated_cuda
