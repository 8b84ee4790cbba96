// Which adapters make one NCCL device. NCCL gives a GPU the device that is next to it, so adapters
// that the same GPUs are next to belong together: each GPU then has all of its own. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nccl_net {

// Where something is in the machine.
struct Place {
  // Its folder below /sys/devices, with all bridges above it:
  // "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0". Empty: not a PCI device.
  std::string path;
  int numa = -1;  // -1: unknown
};

enum class Grouping { next_to_gpus, each, all };

// The value of HEDDLE_NCCL_DEVICES.
Grouping grouping_of(std::string_view setting);

// Indices into `adapters`, each once; groups and their members rise. At most `most` in a group.
// Near is who shares the most bridges, then the root complex, then the NUMA node; an adapter that
// is near to no GPU is with the others of that kind. Without GPUs `next_to_gpus` is `all`.
std::vector<std::vector<std::size_t>> group_adapters(std::span<const Place> adapters,
                                                     std::span<const Place> gpus, Grouping grouping,
                                                     std::size_t most);

// Where the GPUs of this machine are, by the PCI classes that the kernel shows.
std::vector<Place> gpus_here();
// Where a PCI device ("0000:10:00.0") of this machine is.
Place place_of(const std::string& pci);

}  // namespace heddle::nccl_net
