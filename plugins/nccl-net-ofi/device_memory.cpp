#include "nccl-net-ofi/device_memory.hpp"

#include "base/error.hpp"
#include "topology/interfaces.hpp"

namespace heddle::nccl_net {

namespace {

using device::cuda::DeviceAttribute;
using device::cuda::Driver;
using device::cuda::PointerOwner;
using transport::fabric::ChosenProvider;
using transport::fabric::MemoryOwner;

bool can_dmabuf(const Driver& driver, int gpu) {
  return transport::fabric::knows_dmabuf() && driver.has_dmabuf() &&
         driver.attribute(DeviceAttribute::dmabuf, gpu) != 0;
}

bool is_ordered(const Driver& driver, int gpu) {
  return driver.attribute(DeviceAttribute::write_ordering, gpu) >= device::cuda::kOrderingOwner;
}

bool can_flush(const Driver& driver, int gpu) {
  const int options = driver.attribute(DeviceAttribute::flush_options, gpu);
  return driver.has_flush() && (options & device::cuda::kFlushFromHost) != 0;
}

// "" when adapters can write to the GPU's memory and it can be told when that is visible.
std::string what_lacks(const Driver& driver, int gpu) {
  if (driver.attribute(DeviceAttribute::gpu_direct_rdma, gpu) == 0 && !can_dmabuf(driver, gpu))
    return fmt::format(
        "CUDA device {} has no GPUDirect RDMA (GPU_DIRECT_RDMA_SUPPORTED is 0, and dmabuf needs "
        "DMA_BUF_SUPPORTED, driver 11.7 and libfabric 1.20)",
        gpu);
  if (!is_ordered(driver, gpu) && !can_flush(driver, gpu))
    return fmt::format(
        "what adapters write to CUDA device {} cannot be flushed "
        "(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS has no HOST)",
        gpu);
  return "";
}

}  // namespace

ChosenProvider choose_adapters(const base::Settings& settings) {
  return transport::fabric::choose_provider(settings, topology::usable_interface_names(settings),
                                            transport::fabric::DeviceMemory::wanted);
}

DeviceMemory::DeviceMemory(const ChosenProvider& provider, std::shared_ptr<const Driver> driver,
                           const std::string& why_no_driver)
    : driver_(std::move(driver)), support_(judge(provider, why_no_driver)) {}

DeviceMemorySupport DeviceMemory::judge(const ChosenProvider& provider,
                                        const std::string& why_no_driver) {
  DeviceMemorySupport result;
  if (!provider.device_memory) {
    result.why_not =
        fmt::format("provider {}: {}", provider.name,
                    provider.why_no_device_memory.empty() ? "it was not asked for device memory"
                                                          : provider.why_no_device_memory);
    return result;
  }
  if (!provider.rma) {  // messages may be injected, and nothing would tell whose memory it is
    result.why_not = fmt::format("provider {} is used without RDMA writes", provider.name);
    return result;
  }
  if (driver_ == nullptr) {
    result.why_not = why_no_driver;
    return result;
  }
  result.dmabuf = true;
  for (int gpu = 0; gpu < driver_->devices(); ++gpu) {
    result.why_not = what_lacks(*driver_, gpu);
    if (!result.why_not.empty()) break;
    result.dmabuf = result.dmabuf && can_dmabuf(*driver_, gpu);
    needs_flush_.push_back(!is_ordered(*driver_, gpu));
    result.must_flush = result.must_flush || needs_flush_.back();
  }
  result.cuda = result.why_not.empty();
  result.dmabuf = result.dmabuf && result.cuda;
  result.must_flush = result.must_flush && result.cuda;
  return result;
}

MemoryOwner DeviceMemory::owner_of(const void* data, std::size_t bytes,
                                   const MemoryKind& kind) const {
  const bool cuda = kind.where == MemoryKind::Where::cuda;
  const auto refuse = [&](const std::string& why) {
    base::fail(heddleInvalidArgument, "{} bytes at {} cannot be registered as {} memory: {}", bytes,
               data, cuda ? "CUDA" : "host", why);
  };
  if (!support_.cuda) {
    if (cuda) refuse(fmt::format("host memory only, because {}", support_.why_not));
    return {};
  }
  const PointerOwner owner = driver_->owner(data);
  const bool of_device = owner.kind == PointerOwner::Kind::device;
  if (!cuda) {
    if (of_device) refuse(fmt::format("it is of CUDA device {}", owner.device));
    return {};
  }
  if (owner.kind == PointerOwner::Kind::managed)
    refuse("it is managed memory, which moves; adapters cannot follow");
  if (!of_device) refuse("CUDA does not know it as a device's");
  if (bytes > 0) {
    const PointerOwner end = driver_->owner(static_cast<const std::byte*>(data) + bytes - 1);
    if (end.kind != owner.kind || end.device != owner.device)
      refuse(fmt::format("its end is not of CUDA device {} any more", owner.device));
  }
  if (kind.dmabuf >= 0 && !support_.dmabuf) refuse("dmabuf is not supported here");
  return {MemoryOwner::Kind::cuda, owner.device, kind.dmabuf, kind.offset};
}

bool DeviceMemory::needs_flush(int device) const {
  const auto place = static_cast<std::size_t>(device);
  return place < needs_flush_.size() && needs_flush_[place];
}

void DeviceMemory::flush(int device) const {
  if (needs_flush(device)) driver_->flush(device);
}

std::shared_ptr<const DeviceMemory> open_device_memory(const ChosenProvider& provider) {
  std::string why_not;
  std::shared_ptr<const Driver> driver;
  if (provider.device_memory) driver = device::cuda::open_driver(why_not);
  return std::make_shared<const DeviceMemory>(provider, std::move(driver), why_not);
}

DeviceMemorySupport device_memory_support(const ChosenProvider& provider) {
  return open_device_memory(provider)->support();
}

}  // namespace heddle::nccl_net
