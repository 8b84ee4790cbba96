#include "topology/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "topology/address_order.hpp"
#include "topology/system_files.hpp"

namespace heddle::topology {
namespace {

namespace fs = std::filesystem;

struct FreeInterfaceList {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};
using InterfaceList = std::unique_ptr<ifaddrs, FreeInterfaceList>;

// IFF_LOWER_UP of linux/if.h, which cannot be included beside net/if.h: the link is there. The
// kernel sets IFF_RUNNING up to a second later, when a job in a fresh container may have started
// already.
constexpr unsigned kLowerUp = 1u << 16;

std::string sysfs(const std::string& interface) { return "/sys/class/net/" + interface; }

// Interfaces by which container engines and hypervisors join guests of this host. Their addresses
// are often the same on every host (docker0 is 172.17.0.1), so other hosts must not hear of them.
constexpr std::string_view kBridgePrefixes[] = {"docker",  "veth",   "virbr", "br-",         "cni",
                                                "flannel", "podman", "lxcbr", "lxdbr",       "cali",
                                                "cilium",  "weave",  "kube-", "nodelocaldns"};

// A bridge with a physical port is how a host of virtual machines reaches its network (br0 over
// eth0), and then holds the host's only address.
bool is_inner_bridge(const std::string& name) {
  std::error_code error;
  if (!fs::exists(sysfs(name) + "/bridge", error)) return false;
  for (const auto& port : fs::directory_iterator(sysfs(name) + "/brif", error))
    if (fs::exists(sysfs(port.path().filename()) + "/device", error)) return false;
  return true;
}

bool is_bridge_like(const std::string& name) {
  std::error_code ignored;
  return std::any_of(std::begin(kBridgePrefixes), std::end(kBridgePrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         fs::exists(sysfs(name) + "/brport", ignored) || is_inner_bridge(name);
}

Address address_from(const sockaddr* from, const std::string& interface) {
  Address address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (from->sa_family == AF_INET) {
    sockaddr_in ip4{};
    std::memcpy(&ip4, from, sizeof ip4);
    std::memcpy(&address.storage, &ip4, sizeof ip4);
    inet_ntop(AF_INET, &ip4.sin_addr, text.data(), text.size());
    address.text = text.data();
    return address;
  }
  sockaddr_in6 ip6{};
  std::memcpy(&ip6, from, sizeof ip6);
  std::memcpy(&address.storage, &ip6, sizeof ip6);
  inet_ntop(AF_INET6, &ip6.sin6_addr, text.data(), text.size());
  address.text = text.data();
  // By name: hosts of one kind share interface names more often than indices.
  if (IN6_IS_ADDR_LINKLOCAL(&ip6.sin6_addr)) address.text += "%" + interface;
  return address;
}

Interface describe(const std::string& name, unsigned flags) {
  Interface interface;
  interface.name = name;
  interface.up = (flags & IFF_UP) != 0 && (flags & (IFF_RUNNING | kLowerUp)) != 0;
  interface.loopback = (flags & IFF_LOOPBACK) != 0;
  interface.bridge_like = is_bridge_like(name);
  interface.pci = pci_of_interface(name);
  interface.numa_node = numa_of_pci(interface.pci);
  interface.speed_mbit = speed_of_interface(name);
  return interface;
}

// "0000:00:03.0", with a domain of four digits or more.
bool is_pci_address(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon < 4 || text.size() != colon + 8) return false;
  const std::string_view shape = ":xx:xx.x";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char expected = i < colon ? 'x' : shape[i - colon];
    const bool is_digit = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (expected == 'x' ? !is_digit : text[i] != expected) return false;
  }
  return true;
}

}  // namespace

socklen_t Address::size() const {
  return storage.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::vector<Interface> interfaces() {
  ifaddrs* head = nullptr;
  if (getifaddrs(&head) != 0) base::fail_errno(errno, "cannot list the network interfaces");
  const InterfaceList list(head);
  std::vector<Interface> found;
  for (const ifaddrs* entry = head; entry != nullptr; entry = entry->ifa_next) {
    // IPv4 aliases come under a label, "eth0:1"; a colon cannot be part of an interface's name.
    std::string name(entry->ifa_name);
    name = name.substr(0, name.find(':'));
    auto interface = std::find_if(found.begin(), found.end(),
                                  [&](const Interface& other) { return other.name == name; });
    if (interface == found.end())
      interface = found.insert(found.end(), describe(name, entry->ifa_flags));
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6)
      interface->addresses.push_back(address_from(entry->ifa_addr, name));
  }
  for (auto& interface : found)
    std::stable_sort(interface.addresses.begin(), interface.addresses.end(), comes_first);
  return found;
}

std::string pci_of_interface(const std::string& name) {
  std::error_code error;
  const fs::path device = fs::canonical(sysfs(name) + "/device", error);
  if (error) return "";
  // A virtio card's device lies below its PCI function: the innermost PCI address is the card.
  std::string pci;
  for (const auto& part : device)
    if (is_pci_address(part.native())) pci = part.native();
  return pci;
}

long speed_of_interface(const std::string& name) {
  const long speed = number_in(sysfs(name) + "/speed", -1);
  return speed > 0 ? speed : -1;  // drivers say 0 or -1 for "unknown"
}

int numa_of_pci(const std::string& pci) {
  if (!is_pci_address(pci)) return -1;
  return static_cast<int>(number_in("/sys/bus/pci/devices/" + pci + "/numa_node", -1));
}

}  // namespace heddle::topology
