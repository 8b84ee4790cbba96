// The network interfaces of this machine, and which of them ranks may use between hosts.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"

namespace heddle::topology {

struct Address {
  sockaddr_storage storage{};  // AF_INET or AF_INET6, port 0; link-local IPv6 keeps its scope id
  std::string text;            // numeric: "192.0.2.1", "fd00::1", "fe80::1%eth0"

  socklen_t size() const;
};

struct Interface {
  std::string name;
  std::vector<Address> addresses;  // IPv4, IPv6, then link-local ones
  bool up = false;                 // enabled, and its link is there
  bool loopback = false;
  bool bridge_like = false;  // of containers or virtual machines, or a bridge's port
  std::string pci;           // "0000:00:03.0"; "" when it is no PCI device
  int numa_node = -1;        // -1: unknown
  long speed_mbit = -1;      // megabits per second; -1: unknown
};

// Every interface of this process's network namespace, each once however many addresses or labels
// it has, in the kernel's order. Fails with heddleSystemError when the system cannot list them.
std::vector<Interface> interfaces();

struct JudgedInterface {
  Interface interface;
  std::string unused_because;  // "" when ranks may use it
};

// Applies a filter (HEDDLE_IFACE: "eth0,eth1", or "^eth0" to exclude; exact names) to a list of
// interfaces. Pure. The used ones come first: in the filter's order when it names them, otherwise
// fast before slow, then by PCI address, then by name. Loopback and bridge-like interfaces are used
// only when named, and loopback when the machine has nothing else.
// Fails with heddleInvalidArgument, listing the interfaces there are, when a wanted name does not
// exist or the filter leaves nothing.
std::vector<JudgedInterface> judge_interfaces(const std::vector<Interface>& all,
                                              std::string_view filter);

// The used ones of judge_interfaces for this machine. Empty only when not even loopback is up.
std::vector<Interface> usable_interfaces(const base::Settings& settings);
std::vector<std::string> usable_interface_names(const base::Settings& settings);

// Every address of `used`, best for other hosts first, link-local ones last. Pure.
std::vector<Address> advertised_addresses(const std::vector<Interface>& used);

// What a rank that listens on `port` tells the others: "ip:port" or "[ip6]:port", best first.
// Loopback only when the machine
// has nothing else or the filter names it; the host's own name is never resolved, because hosts
// often map it to 127.0.0.1. Fails with heddleSystemError when no interface is up.
std::vector<std::string> bootstrap_addresses(const base::Settings& settings, std::uint16_t port);

// The PCI address of the device behind a network interface, "" when it has none.
std::string pci_of_interface(const std::string& name);
// Its speed in megabits per second; -1: unknown.
long speed_of_interface(const std::string& name);
// The NUMA node next to a PCI device ("0000:00:03.0"); -1: unknown.
int numa_of_pci(const std::string& pci);

}  // namespace heddle::topology
