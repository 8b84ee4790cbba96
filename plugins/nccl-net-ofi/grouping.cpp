#include "nccl-net-ofi/grouping.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/text.hpp"
#include "topology/interfaces.hpp"
#include "topology/system_files.hpp"

namespace heddle::nccl_net {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPciDevices = "/sys/bus/pci/devices/";

std::vector<std::string> steps(const std::string& path) {
  std::vector<std::string> parts;
  for (const auto& part : fs::path(path).lexically_relative("/sys/devices"))
    parts.push_back(part.native());
  return parts;
}

// 0: nothing in common; 1: the NUMA node; 2: the root complex; more: bridges below it.
std::size_t nearness(const Place& a, const Place& b) {
  if (!a.path.empty() && !b.path.empty()) {
    const auto one = steps(a.path), other = steps(b.path);
    const auto parted = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
    const auto common = static_cast<std::size_t>(parted.first - one.begin());
    if (common > 0) return common + 1;
  }
  return a.numa >= 0 && a.numa == b.numa ? 1 : 0;
}

std::vector<std::size_t> nearest_gpus(const Place& adapter, std::span<const Place> gpus) {
  std::vector<std::size_t> nearest;
  std::size_t best = 1;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    const std::size_t near = nearness(adapter, gpus[gpu]);
    if (near > best) nearest.clear(), best = near;
    if (near == best) nearest.push_back(gpu);
  }
  return nearest;
}

// GPUs are displays or accelerators to PCI; a server's own little display adapter is a display too.
bool is_gpu(std::string_view pci) {
  const auto number = [&](const char* file) {
    const std::string text = topology::first_line(kPciDevices + std::string(pci) + "/" + file);
    unsigned value = 0;
    return text.starts_with("0x") && base::parse_number(std::string_view(text).substr(2), value, 16)
               ? value
               : 0;
  };
  constexpr unsigned kDisplay = 0x03, kAccelerator = 0x12;
  constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002;
  const unsigned kind = number("class") >> 16, vendor = number("vendor");
  return (kind == kDisplay || kind == kAccelerator) && (vendor == kNvidia || vendor == kAmd);
}

}  // namespace

Grouping grouping_of(std::string_view setting) {
  if (setting == "each") return Grouping::each;
  return setting == "all" ? Grouping::all : Grouping::next_to_gpus;
}

std::vector<std::vector<std::size_t>> group_adapters(std::span<const Place> adapters,
                                                     std::span<const Place> gpus, Grouping grouping,
                                                     std::size_t most) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::vector<std::size_t>, std::size_t> group_of;  // by what the adapters are next to
  for (std::size_t adapter = 0; adapter < adapters.size(); ++adapter) {
    std::vector<std::size_t> beside;
    if (grouping == Grouping::each) beside = {adapter};
    if (grouping == Grouping::next_to_gpus) beside = nearest_gpus(adapters[adapter], gpus);
    const auto [place, is_new] = group_of.try_emplace(beside, groups.size());
    if (!is_new && groups[place->second].size() == most) place->second = groups.size();
    if (place->second == groups.size()) groups.emplace_back();
    groups[place->second].push_back(adapter);
  }
  return groups;
}

Place place_of(const std::string& pci) {
  if (pci.empty()) return {};
  std::error_code error;
  const fs::path path = fs::canonical(kPciDevices + pci, error);
  return {error ? "" : path.native(), topology::numa_of_pci(pci)};
}

std::vector<Place> gpus_here() {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kPciDevices, error))
    if (is_gpu(entry.path().filename().native())) found.push_back(entry.path().filename().native());
  std::sort(found.begin(), found.end());
  std::vector<Place> places;
  for (const auto& pci : found) places.push_back(place_of(pci));
  return places;
}

}  // namespace heddle::nccl_net
