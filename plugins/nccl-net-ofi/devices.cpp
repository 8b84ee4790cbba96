#include "nccl-net-ofi/devices.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "nccl-net-ofi/abi/common.hpp"
#include "nccl-net-ofi/grouping.hpp"
#include "topology/host.hpp"
#include "transport/fabric/provider.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::nccl_net {

namespace {

using transport::fabric::Adapter;

constexpr int kUnknownMegabits = 10000;  // what NCCL itself takes a device to have

// NCCL keeps pointers to what it was told, and says nowhere for how long.
const char* kept(const std::string& text) {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const texts = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  return texts->insert(text).first->c_str();
}

std::uint64_t guid_of(const std::string& host, const std::vector<std::string>& adapters) {
  return base::short_hash(fmt::format("nccl device\n{}\n{}", host, fmt::join(adapters, "\n")));
}

int sum(int a, int b) {
  return static_cast<int>(
      std::min<std::int64_t>(std::int64_t{a} + b, std::numeric_limits<int>::max()));
}

int megabits_of(const Adapter& adapter) {
  return adapter.gigabits > 0 ? static_cast<int>(std::min(adapter.gigabits * 1000, 2e9))
                              : kUnknownMegabits;
}

void log_devices(const transport::fabric::ChosenProvider& provider, const DeviceList& devices) {
  const bool emulated = provider.adapters.front().adapter.emulated;
  base::log_info("NET/OFI libfabric {}, protocol {}, {}", transport::fabric::libfabric_version(),
                 provider.protocol, provider.rma ? "RDMA write" : "messages");
  base::log_info("NET/OFI Selected Provider is {} (found {} nics)",
                 provider.name + (emulated ? ", emulated" : ""), provider.adapters.size());
  for (int i = 0; i < devices.found(); ++i) {
    const Device& device = devices.at(i);
    base::log_info("NET/OFI device {}: {}, {:g} Gb/s, {}, {}", i, fmt::join(device.adapters, " + "),
                   device.megabits / 1000.0,
                   device.pci_path == nullptr ? "no PCI device" : device.pci_path,
                   (device.pointer_kinds & nccl_abi::kPointerCuda) != 0 ? "host and GPU memory"
                                                                        : "host memory");
  }
}

}  // namespace

DeviceList::DeviceList(const base::Settings& settings, const std::string& host,
                       std::span<const Adapter> adapters, const DeviceMemorySupport& memory)
    : host_(host) {
  std::vector<Place> places;
  for (const Adapter& adapter : adapters) {
    places.push_back(place_of(adapter.pci));
    places.back().numa = adapter.numa_node;
  }
  const Grouping grouping = grouping_of(settings.nccl_devices);
  const auto gpus = grouping == Grouping::next_to_gpus ? gpus_here() : std::vector<Place>{};
  for (const auto& group : group_adapters(places, gpus, grouping, transport::fabric::kMaxRails)) {
    std::vector<const Adapter*> members;
    for (const std::size_t adapter : group) members.push_back(&adapters[adapter]);
    add(settings, memory, members);
  }
  found_ = static_cast<int>(devices_.size());
}

void DeviceList::add(const base::Settings& settings, const DeviceMemorySupport& memory,
                     std::span<const Adapter* const> adapters) {
  Device device;
  for (const Adapter* adapter : adapters) {
    device.adapters.push_back(adapter->name);
    device.megabits = sum(device.megabits, megabits_of(*adapter));
  }
  const std::string& first = device.adapters.front();
  device.name =
      kept(adapters.size() == 1 ? first : fmt::format("{}+{}", first, adapters.size() - 1));
  const std::string path = place_of(adapters.front()->pci).path;
  if (!path.empty()) device.pci_path = kept(path);
  device.guid = guid_of(host_, device.adapters);
  device.pointer_kinds = memory.pointer_bits();
  device.must_flush = memory.must_flush;
  device.most_comms = transport::fabric::kMaxConnections;
  device.most_grouped = settings.nccl_max_recvs;
  device.members = {static_cast<int>(devices_.size())};
  devices_.push_back(std::move(device));
}

const Device& DeviceList::locked_at(int device) const {
  if (device < 0 || static_cast<std::size_t>(device) >= devices_.size())
    base::fail(heddleInternalError, "there is no device {}: they are 0 to {}", device,
               devices_.size() - 1);
  return devices_[static_cast<std::size_t>(device)];
}

const Device& DeviceList::at(int device) const {
  const std::lock_guard lock(mutex_);
  return locked_at(device);
}

void DeviceList::check_members(std::span<const int> members) const {
  if (members.empty()) base::fail(heddleInternalError, "a device of no devices was asked for");
  std::size_t adapters = 0;
  for (const int member : members) {
    adapters += locked_at(member).adapters.size();
    if (member >= found_)
      base::fail(heddleInternalError, "device {} is made of others itself and joins no other",
                 member);
    if (std::count(members.begin(), members.end(), member) > 1)
      base::fail(heddleInternalError, "device {} was named twice for one device", member);
  }
  if (adapters > transport::fabric::kMaxRails)
    base::fail(heddleInternalError, "a device of {} adapters was asked for; at most {} are allowed",
               adapters, transport::fabric::kMaxRails);
}

int DeviceList::merge(std::span<const int> members) {
  const std::lock_guard lock(mutex_);
  check_members(members);
  const auto same = std::find_if(devices_.begin(), devices_.end(), [&](const Device& one) {
    return std::equal(one.members.begin(), one.members.end(), members.begin(), members.end());
  });
  if (same != devices_.end()) return static_cast<int>(same - devices_.begin());

  Device merged = devices_[static_cast<std::size_t>(members[0])];
  std::string name = merged.name;
  for (const int member : members.subspan(1)) {
    const Device& one = devices_[static_cast<std::size_t>(member)];
    name += fmt::format("+{}", one.name);
    merged.megabits = sum(merged.megabits, one.megabits);
    merged.adapters.insert(merged.adapters.end(), one.adapters.begin(), one.adapters.end());
  }
  merged.name = kept(name);
  merged.guid = guid_of(host_, merged.adapters);
  merged.members.assign(members.begin(), members.end());
  devices_.push_back(std::move(merged));
  return static_cast<int>(devices_.size()) - 1;
}

std::unique_ptr<DeviceList> find_devices(const base::Settings& settings) {
  const auto provider = choose_adapters(settings);
  const DeviceMemorySupport memory = device_memory_support(provider);
  std::vector<Adapter> adapters;
  for (const auto& chosen : provider.adapters) adapters.push_back(chosen.adapter);
  auto devices =
      std::make_unique<DeviceList>(settings, topology::this_host(settings).id, adapters, memory);
  log_devices(provider, *devices);
  if (!memory.cuda) base::log_info("NET/OFI no GPU memory: {}", memory.why_not);
  return devices;
}

}  // namespace heddle::nccl_net
