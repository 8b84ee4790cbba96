// What libfabric offers on this machine, and which of its providers carries the job. The .cpp is
// the one file that knows providers by name; everything above sees attributes only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "transport/fabric/adapter.hpp"
#include "transport/fabric/device_memory.hpp"
#include "transport/fabric/owners.hpp"

namespace heddle::transport::fabric {

struct ProviderReport {
  std::string name;     // libfabric's, e.g. "tcp;ofi_rxm"
  std::string version;  // "117.0"
  bool usable = false;
  bool automatic = false;  // considered when nobody names a provider
  std::string why_not;     // when not usable: what it lacks
  // Whether it would move memory of devices (FI_HMEM) for the adapters below. Asked about only.
  bool device_memory = false;
  std::vector<Adapter> adapters;  // each once, in rail order; those that would be used
};

// Every provider libfabric has here, in the order of preference. `allowed_interfaces` filters the
// adapters that are network interfaces; loopback is taken only when it is all that is allowed.
std::vector<ProviderReport> survey(const base::Settings& settings,
                                   std::span<const std::string> allowed_interfaces);

struct ChosenAdapter {
  Adapter adapter;
  Info info;               // to open it with
  std::size_t send_bytes;  // the longest message that is sent; a write may be longer
};

struct ChosenProvider {
  std::string name;
  std::string protocol;  // the wire's, by libfabric's name
  bool rma;              // RDMA write with immediate data; else tagged messages
  // Workaround: a peer's death shows only as -FI_EAGAIN for ever on posts to it, after earlier ones
  // were taken.
  bool again_means_lost;
  // Whether FI_DELIVERY_COMPLETE makes a difference.
  bool must_ask_for_delivery;
  // Whether the target's completion of an RDMA write says how many bytes it wrote.
  bool tells_written_length;
  // What a rail that failed needs. Workarounds: a new domain where an old one remembers endpoints
  // that it had; nothing where that crashes, so that the rail stays lost, and its connections.
  enum class Reopen { endpoint, domain, never };
  Reopen reopen;
  // Whether all adapters are opened for memory of devices too, and why not; "" where it was not
  // wanted.
  bool device_memory = false;
  std::string why_no_device_memory;
  std::vector<ChosenAdapter> adapters;  // at least one
};

// The provider that settings.provider asks for, or the best for "auto", with the adapters that
// settings.rails chooses. Fails with heddleInvalidArgument that lists what was found and what each
// lacks; never takes another one. Where device memory is wanted and this provider or one of these
// adapters has no way to it, they are opened for the host's memory alone; the result says so.
ChosenProvider choose_provider(const base::Settings& settings,
                               std::span<const std::string> allowed_interfaces,
                               DeviceMemory device_memory = DeviceMemory::unused);

// libfabric's version at run time, "1.17".
std::string libfabric_version();

}  // namespace heddle::transport::fabric
