// Registration: what the real provider refuses of the host's memory and of a device's.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "domain.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

int close_region(fid* object) {
  auto* region = static_cast<Region*>(reinterpret_cast<fid_mr*>(object));
  Domain& domain = *region->domain;
  const std::lock_guard lock(domain.mutex);
  domain.memory.remove(region);
  --domain.children;
  return 0;
}

fi_ops region_operations = {.size = sizeof(fi_ops),
                            .close = close_region,
                            .bind = unsupported,
                            .control = unsupported,
                            .ops_open = unsupported,
                            .tostr = unsupported,
                            .ops_set = unsupported};

// FI_MR_ALLOCATED: the pages must be there when they are registered.
bool is_mapped(const void* base, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(base) / page * page;
  const std::uintptr_t end =
      (reinterpret_cast<std::uintptr_t>(base) + bytes + page - 1) / page * page;
  std::vector<unsigned char> ignored((end - begin) / page);
  return mincore(reinterpret_cast<void*>(begin), end - begin, ignored.data()) == 0;
}

// A number alone would leave the application's author guessing.
int refuse(const Domain& domain, int error, const char* why) {
  std::fprintf(stderr, "EMULATED EFA: %s refuses to register memory: %s\n", domain.name().c_str(),
               why);
  return -error;
}

struct Wanted {
  void* base;
  std::size_t bytes;
  std::byte* reached = nullptr;
  Imported imported;
};

int check_host(const Domain& domain, Wanted& wanted) {
  if (!is_mapped(wanted.base, wanted.bytes)) return -FI_EFAULT;
  const auto found = device_range(wanted.base, wanted.bytes);
  if (found && !found->managed)
    return refuse(domain, FI_EFAULT, "it is a CUDA device's, and was said to be the host's");
  wanted.reached = static_cast<std::byte*>(wanted.base);
  return 0;
}

int check_device(const Domain& domain, const fi_mr_attr& attributes, Wanted& wanted) {
  if (!domain.takes_device_memory())
    return refuse(domain, FI_EOPNOTSUPP, "a device's, and the domain was opened without FI_HMEM");
  if (wanted.imported.data() != nullptr) {
    wanted.reached = wanted.imported.data();
    return 0;
  }
  const auto found = device_range(wanted.base, wanted.bytes);
  if (!found || found->managed)
    return refuse(domain, FI_EINVAL, "it is no CUDA device's (emulated_cuda knows)");
  if (!found->whole) return refuse(domain, FI_EINVAL, "it ends outside of its CUDA allocation");
  if (found->device != attributes.device.cuda)
    return refuse(domain, FI_EINVAL, "it is another CUDA device's than was said");
  wanted.reached = found->alias;
  return 0;
}

#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 20
constexpr std::uint64_t kDmabuf = FI_MR_DMABUF;
int import(const Domain& domain, const fi_mr_attr& attributes, Wanted& wanted) {
  const fi_mr_dmabuf& file = *attributes.dmabuf;
  wanted.base = static_cast<std::byte*>(file.base_addr) + file.offset;
  wanted.bytes = file.len;
  auto imported = Imported::map(file.fd, file.offset, file.len);
  if (!imported) return refuse(domain, FI_EINVAL, "no dmabuf of emulated_cuda, or one too short");
  wanted.imported = std::move(*imported);
  return 0;
}
#else
constexpr std::uint64_t kDmabuf = 0;
int import(const Domain&, const fi_mr_attr&, Wanted&) { return -FI_ENOSYS; }
#endif

}  // namespace

int register_memory(fid* object, const fi_mr_attr* attributes, std::uint64_t flags,
                    fid_mr** registered) {
  Domain& domain = *static_cast<Domain*>(reinterpret_cast<fid_domain*>(object));
  if ((flags & ~kDmabuf) != 0) return -FI_EBADFLAGS;
  if (attributes->iov_count != 1) return -FI_EINVAL;
  const bool device = attributes->iface == FI_HMEM_CUDA;
  if (!device && attributes->iface != FI_HMEM_SYSTEM) return -FI_EINVAL;
  Wanted wanted{};
  if (flags != 0) {
    if (!device) return -FI_EINVAL;
    if (const int rc = import(domain, *attributes, wanted); rc != 0) return rc;
  } else {
    wanted.base = attributes->mr_iov[0].iov_base;
    wanted.bytes = attributes->mr_iov[0].iov_len;
  }
  if (wanted.base == nullptr || wanted.bytes == 0) return -FI_EINVAL;
  const int rc = device ? check_device(domain, *attributes, wanted) : check_host(domain, wanted);
  if (rc != 0) return rc;
  const std::lock_guard lock(domain.mutex);
  Region* region = domain.memory.add(wanted.base, wanted.bytes, attributes->access, wanted.reached);
  if (region == nullptr) return -FI_ENOMEM;
  region->fid = {FI_CLASS_MR, attributes->context, &region_operations};
  region->domain = &domain;
  region->imported = std::move(wanted.imported);
  ++domain.children;
  *registered = region;
  return 0;
}

}  // namespace emulated_efa
