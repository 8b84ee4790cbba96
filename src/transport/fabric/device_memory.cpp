#include "transport/fabric/device_memory.hpp"

#include "transport/fabric/owners.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::uint32_t kBuiltWith = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

// Both are names of an enum or a struct, which the preprocessor cannot look for.
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
#define HEDDLE_HAS_CALLS_OPTION 1
#endif
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 20
#define HEDDLE_HAS_DMABUF 1
#endif

}  // namespace

std::string text_of(const MemoryOwner& owner) {
  if (owner.is_host()) return "the host";
  return fmt::format("CUDA device {}{}", owner.device, owner.dmabuf >= 0 ? " (dmabuf)" : "");
}

bool knows_dmabuf() {
  constexpr std::uint32_t kFirst = FI_VERSION(1, 20);
  return kBuiltWith >= kFirst && fi_version() >= kFirst;
}

int register_device_memory(fid_domain* domain, std::byte* data, std::size_t bytes,
                           std::uint64_t access, std::uint64_t key, const MemoryOwner& owner,
                           fid_mr** region) {
  const iovec memory{data, bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &memory;
  attributes.iov_count = 1;
  attributes.access = access;
  attributes.requested_key = key;
  attributes.iface = FI_HMEM_CUDA;
  attributes.device.cuda = owner.device;
  if (owner.dmabuf < 0) return fi_mr_regattr(domain, &attributes, 0, region);
#ifdef HEDDLE_HAS_DMABUF
  if (knows_dmabuf()) {
    // Peers and descriptors use the memory's own address, which is base_addr + offset.
    const fi_mr_dmabuf file{owner.dmabuf, owner.offset, bytes, data - owner.offset};
    attributes.dmabuf = &file;
    return fi_mr_regattr(domain, &attributes, FI_MR_DMABUF, region);
  }
#endif
  return -FI_EOPNOTSUPP;
}

int forbid_device_calls([[maybe_unused]] fid_ep* endpoint) {
#ifdef HEDDLE_HAS_CALLS_OPTION
  if (fi_version() < FI_VERSION(1, 18)) return 0;  // has other options by these numbers, or none
  bool permitted = false;
  const int rc = fi_setopt(&endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
                           sizeof permitted);
  return rc == -FI_ENOPROTOOPT || rc == -FI_ENOSYS ? 0 : rc;
#else
  return 0;  // by the rules of 1.17, which we ask for, a provider calls nothing unless told to
#endif
}

std::string why_no_device_memory([[maybe_unused]] fi_info& info) {
#ifdef HEDDLE_HAS_CALLS_OPTION
  const std::string provider = info.fabric_attr->prov_name;
  try {
    fid_fabric* fabric = nullptr;
    check_fabric(fi_fabric(info.fabric_attr, &fabric, nullptr), "fi_fabric", provider);
    const Fabric fabric_owner(fabric);
    fid_domain* domain = nullptr;
    check_fabric(fi_domain(fabric, &info, &domain, nullptr), "fi_domain", provider);
    const Domain domain_owner(domain);
    fid_ep* endpoint = nullptr;
    check_fabric(fi_endpoint(domain, &info, &endpoint, nullptr), "fi_endpoint", provider);
    const Endpoint endpoint_owner(endpoint);
    if (const int rc = forbid_device_calls(endpoint); rc != 0)
      return fmt::format("it has no direct way to devices' memory (FI_OPT_CUDA_API_PERMITTED: {})",
                         fabric_error_text(rc));
  } catch (const base::Error& error) {
    return error.what();
  }
#endif
  return "";
}

}  // namespace heddle::transport::fabric
