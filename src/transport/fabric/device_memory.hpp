// Memory of devices: whose memory a range is, and how libfabric is told. The .hpp and .cpp are the
// one place of the room that knows a GPU vendor by name.
//
// Thread rule: as the rail.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::transport::fabric {

// Whether memory of devices shall be registered, or the host's only.
enum class DeviceMemory { unused, wanted };

struct MemoryOwner {
  enum class Kind { host, cuda } kind = Kind::host;
  int device = 0;            // the vendor's ordinal
  int dmabuf = -1;           // a descriptor of the memory, the caller's; -1: none
  std::uint64_t offset = 0;  // of the memory in the dmabuf

  bool is_host() const { return kind == Kind::host; }
};

// "the host", "CUDA device 1", "CUDA device 1 (dmabuf)"
std::string text_of(const MemoryOwner& owner);

// Whether a dmabuf can be registered: by the libfabric that we were built with and the one that is
// there. 1.20 is the first; older ones take the flag for nothing and would read a wrong address.
bool knows_dmabuf();

// fi_mr_regattr. 0 or a negative fi_errno; -FI_EOPNOTSUPP for a dmabuf where !knows_dmabuf().
int register_device_memory(fid_domain* domain, std::byte* data, std::size_t bytes,
                           std::uint64_t access, std::uint64_t key, const MemoryOwner& owner,
                           fid_mr** region);

// Before an endpoint with FI_HMEM is enabled: that the provider may not call the vendor's library
// (which can deadlock against a caller that holds its locks while a kernel waits for the network).
// 0, also when libfabric or the provider does not know the option; else what the provider answered:
// it cannot reach the devices without copies.
int forbid_device_calls(fid_ep* endpoint);

// Opens an endpoint to ask. "", or why memory of devices cannot be used with `info`, which was
// granted FI_HMEM.
std::string why_no_device_memory(fi_info& info);

}  // namespace heddle::transport::fabric
