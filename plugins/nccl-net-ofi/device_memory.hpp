// Memory of GPUs: whether NCCL may hand it over, whose a pointer is, and making what was received
// visible. CUDA's driver is opened at run time; where there is none, the host's memory is all.
//
// Thread rule: any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/driver.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "transport/fabric/device_memory.hpp"
#include "transport/fabric/provider.hpp"

namespace heddle::nccl_net {

// The provider and the adapters that the settings leave, with memory of devices where they have it:
// for what NCCL is told and for what is opened alike. Fails as transport::fabric::choose_provider.
transport::fabric::ChosenProvider choose_adapters(const base::Settings& settings);

struct DeviceMemorySupport {
  bool cuda = false;    // memory of every GPU of this process
  bool dmabuf = false;  // by a descriptor of it too; not without cuda
  // CUDA says that a GPU needs it, so NCCL must ask for flushes, which it leaves out by the GPU's
  // age.
  bool must_flush = false;
  std::string why_not;  // why no cuda, a sentence's half; "" where there is

  // kPointer... bits.
  int pointer_bits() const {
    return nccl_abi::kPointerHost | (cuda ? nccl_abi::kPointerCuda : 0) |
           (dmabuf ? nccl_abi::kPointerDmaBuf : 0);
  }
};

class DeviceMemory {
 public:
  // `provider` is choose_adapters'. `driver` null: there is none, and why.
  DeviceMemory(const transport::fabric::ChosenProvider& provider,
               std::shared_ptr<const device::cuda::Driver> driver,
               const std::string& why_no_driver);

  const DeviceMemorySupport& support() const { return support_; }

  // What to register the memory as. Fails with heddleInvalidArgument where it is not what `kind`
  // says, or of a kind that is not supported.
  transport::fabric::MemoryOwner owner_of(const void* data, std::size_t bytes,
                                          const MemoryKind& kind) const;

  // Whether what adapters wrote to the GPU's memory has to be flushed before its kernels read it.
  bool needs_flush(int device) const;
  // Blocks for microseconds; does nothing where none is needed. Fails with heddleSystemError.
  void flush(int device) const;

 private:
  DeviceMemorySupport judge(const transport::fabric::ChosenProvider& provider,
                            const std::string& why_no_driver);

  std::shared_ptr<const device::cuda::Driver> driver_;
  std::vector<bool> needs_flush_;  // by ordinal
  DeviceMemorySupport support_;
};

// With the driver of this machine, which is opened only when the provider has device memory.
std::shared_ptr<const DeviceMemory> open_device_memory(
    const transport::fabric::ChosenProvider& provider);

// Of the same, when nothing else of it is wanted.
DeviceMemorySupport device_memory_support(const transport::fabric::ChosenProvider& provider);

}  // namespace heddle::nccl_net
