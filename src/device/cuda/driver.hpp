// NVIDIA's driver library, opened at run time: whose memory a pointer is, what a GPU can do for
// network adapters, and making what they wrote visible to it. Nothing here moves data.
//
// Thread rule: any thread; a driver's functions may be called at once.
// Errors: base::Error with heddleSystemError that names the call and CUDA's text.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.hpp"
#include "device/cuda/abi.hpp"

namespace heddle::device::cuda {

struct PointerOwner {
  enum class Kind {
    host,     // also what CUDA pinned or mapped
    device,   // of one GPU
    managed,  // moves between the two; no adapter can reach it
  } kind = Kind::host;
  int device = 0;  // ordinal, unless host
};

class Driver {
 public:
  explicit Driver(const Functions& functions);
  Driver(const Driver&) = delete;
  // Gives back the contexts that flush took.
  ~Driver();

  int devices() const { return devices_; }
  const std::string& version() const { return version_; }  // "13.0"
  // `device`: an ordinal. 0 for an attribute that this driver does not know.
  int attribute(DeviceAttribute what, int device) const;
  // Memory that CUDA does not know is the host's.
  PointerOwner owner(const void* pointer) const;

  bool has_dmabuf() const { return functions_.cuMemGetHandleForAddressRange != nullptr; }
  // A descriptor of device memory for other drivers; whole pages of the host's size. Offset 0 of it
  // is `begin`. Fails with heddleInvalidUsage where the driver has no such function.
  base::UniqueFd dmabuf(const void* begin, std::size_t bytes) const;

  bool has_flush() const { return functions_.cuFlushGPUDirectRDMAWrites != nullptr; }
  // Returns when what adapters have written to the device's memory is visible to its kernels. In
  // the device's primary context, which is taken the first time. Fails with heddleInvalidUsage
  // where the driver has no such function.
  void flush(int device) const;

 private:
  void check(Result result, const char* call) const;
  Device handle(int device) const;
  Context context(int device) const;

  Functions functions_;
  int devices_ = 0;
  std::string version_;
  mutable std::mutex mutex_;  // of contexts_
  mutable std::map<int, Context> contexts_;
};

inline constexpr const char* kLibrary = "libcuda.so.1";

// Null, and why not, where there is no driver, no GPU, or a driver too old. The library stays
// loaded until the process ends: it does not stand being unloaded.
std::shared_ptr<const Driver> open_driver(std::string& why_not,
                                          const std::string& library = kLibrary);

}  // namespace heddle::device::cuda
