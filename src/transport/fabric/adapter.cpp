#include "transport/fabric/adapter.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace heddle::transport::fabric {

namespace {

namespace fs = std::filesystem;

bool is_loopback(const fi_info& info) {
  if (info.src_addr == nullptr) return false;
  if (info.addr_format == FI_SOCKADDR_IN) {
    sockaddr_in address;
    std::memcpy(&address, info.src_addr, sizeof address);
    return (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  }
  if (info.addr_format == FI_SOCKADDR_IN6) {
    sockaddr_in6 address;
    std::memcpy(&address, info.src_addr, sizeof address);
    return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
  }
  return false;
}

// What sysfs says of an ordinary network interface: its PCI function and its speed.
void describe_interface(Adapter& adapter) {
  const fs::path base = fs::path("/sys/class/net") / adapter.interface_name;
  std::error_code ignored;
  const fs::path device = fs::canonical(base / "device", ignored);
  unsigned domain, bus, slot, function;
  // A virtio or similar child sits one level below its PCI function.
  for (const fs::path& level : {device, device.parent_path()})
    if (std::sscanf(level.filename().c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) ==
        4) {
      adapter.pci =
          PciAddress{static_cast<std::uint16_t>(domain), static_cast<std::uint8_t>(bus),
                     static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(function)};
      break;
    }
  std::ifstream file(base / "speed");
  double megabits = 0;  // -1 or unreadable where the driver does not know
  if (file >> megabits && megabits > 0) adapter.gigabits = megabits / 1e3;
}

void describe_nic(Adapter& adapter, const fid_nic& nic) {
  if (const fi_device_attr* device = nic.device_attr) {
    if (device->name != nullptr) adapter.name = device->name;
    adapter.emulated = device->driver != nullptr && std::strcmp(device->driver, "emulated") == 0;
  }
  if (nic.bus_attr != nullptr && nic.bus_attr->bus_type == FI_BUS_PCI) {
    const fi_pci_attr& pci = nic.bus_attr->attr.pci;
    adapter.pci = PciAddress{pci.domain_id, pci.bus_id, pci.device_id, pci.function_id};
  }
  if (nic.link_attr != nullptr) adapter.gigabits = static_cast<double>(nic.link_attr->speed) / 1e9;
}

struct IpAddress {
  std::vector<std::uint8_t> bytes;  // 4 or 16; empty: no IP address
  bool link_local = false;
};

IpAddress ip_address(const sockaddr* address) {
  IpAddress ip;
  if (address == nullptr) return ip;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    ip.bytes.resize(4);
    std::memcpy(ip.bytes.data(), &v4.sin_addr, 4);
    ip.link_local = ip.bytes[0] == 169 && ip.bytes[1] == 254;
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    ip.bytes.resize(16);
    std::memcpy(ip.bytes.data(), &v6.sin6_addr, 16);
    ip.link_local = IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) != 0;
  }
  return ip;
}

// The network of an address that one of the interfaces has, by its mask there.
std::string network_of(const IpAddress& ip) {
  if (ip.bytes.empty() || ip.link_local) return "";
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::string network;
  for (const ifaddrs* one = list; one != nullptr && network.empty(); one = one->ifa_next) {
    if (one->ifa_netmask == nullptr || ip_address(one->ifa_addr).bytes != ip.bytes) continue;
    const IpAddress mask = ip_address(one->ifa_netmask);
    if (mask.bytes.size() != ip.bytes.size()) continue;
    int length = 0;
    for (std::size_t i = 0; i < ip.bytes.size(); ++i) {
      network += fmt::format("{:02x}", ip.bytes[i] & mask.bytes[i]);
      length += std::popcount(mask.bytes[i]);
    }
    network += fmt::format("/{}", length);
  }
  freeifaddrs(list);
  return network;
}

int numa_node_of(const fs::path& device) {
  std::ifstream file(device / "numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

// "eth9" before "eth10": runs of digits compare as numbers.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t end_a = i, end_b = j;
      while (end_a < a.size() && digit(a[end_a])) ++end_a;
      while (end_b < b.size() && digit(b[end_b])) ++end_b;
      while (i + 1 < end_a && a[i] == '0') ++i;
      while (j + 1 < end_b && b[j] == '0') ++j;
      if (end_a - i != end_b - j) return end_a - i < end_b - j;
      for (; i < end_a; ++i, ++j)
        if (a[i] != b[j]) return a[i] < b[j];
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

std::string to_text(const PciAddress& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

Adapter describe_adapter(const fi_info& info) {
  Adapter adapter;
  if (info.domain_attr->name != nullptr) adapter.name = info.domain_attr->name;
  if (info.nic != nullptr) describe_nic(adapter, *info.nic);
  const bool ip = info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  if (info.nic == nullptr && ip) {
    adapter.interface_name = adapter.name;
    adapter.loopback = is_loopback(info);
    describe_interface(adapter);
    adapter.network = network_of(ip_address(static_cast<const sockaddr*>(info.src_addr)));
  }
  if (adapter.pci)
    adapter.numa_node = numa_node_of(fs::path("/sys/bus/pci/devices") / to_text(*adapter.pci));
  return adapter;
}

bool adapter_before(const Adapter& a, const Adapter& b) {
  if (a.pci && b.pci && *a.pci != *b.pci) return *a.pci < *b.pci;
  if (a.pci.has_value() != b.pci.has_value()) return a.pci.has_value();
  return natural_less(a.name, b.name);
}

}  // namespace heddle::transport::fabric
