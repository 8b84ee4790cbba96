#include "transport/fabric/adapter.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>

#include <bit>
#include <cstring>
#include <string_view>
#include <tuple>
#include <vector>

#include "topology/interfaces.hpp"

namespace heddle::transport::fabric {

namespace {

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

void describe_nic(Adapter& adapter, const fid_nic& nic) {
  if (const fi_device_attr* device = nic.device_attr) {
    if (device->name != nullptr) adapter.name = device->name;
    adapter.emulated = device->driver != nullptr && std::strcmp(device->driver, "emulated") == 0;
  }
  if (nic.bus_attr != nullptr && nic.bus_attr->bus_type == FI_BUS_PCI) {
    const fi_pci_attr& pci = nic.bus_attr->attr.pci;
    adapter.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain_id, pci.bus_id, pci.device_id,
                              pci.function_id);
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

}  // namespace

Adapter describe_adapter(const fi_info& info) {
  Adapter adapter;
  if (info.domain_attr->name != nullptr) adapter.name = info.domain_attr->name;
  if (info.nic != nullptr) describe_nic(adapter, *info.nic);
  const bool ip = info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  if (info.nic == nullptr && ip) {
    adapter.interface_name = adapter.name;
    adapter.loopback = is_loopback(info);
    adapter.pci = topology::pci_of_interface(adapter.name);
    const long megabits = topology::speed_of_interface(adapter.name);
    if (megabits > 0) adapter.gigabits = static_cast<double>(megabits) / 1e3;
    adapter.network = network_of(ip_address(static_cast<const sockaddr*>(info.src_addr)));
  }
  adapter.numa_node = topology::numa_of_pci(adapter.pci);
  return adapter;
}

bool adapter_before(const Adapter& a, const Adapter& b) {
  const auto place = [](const Adapter& one) {  // a domain of five digits comes after one of four
    return std::make_tuple(one.pci.empty(), one.pci.size(), std::string_view(one.pci));
  };
  // Ports of one PCI function, and adapters without an address, differ in their names only.
  if (place(a) != place(b)) return place(a) < place(b);
  return strverscmp(a.name.c_str(), b.name.c_str()) < 0;
}

}  // namespace heddle::transport::fabric
