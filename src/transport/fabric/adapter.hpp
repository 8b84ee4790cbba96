// One network adapter as libfabric shows it, and what the operating system adds to that. Knows no
// provider by name.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace heddle::transport::fabric {

struct Adapter {
  std::string name;            // the device's name; libfabric's domain where it has none
  std::string interface_name;  // the network interface, empty when the adapter is none
  bool loopback = false;
  std::string pci;        // "0000:4f:00.0"; "" when it is no PCI device
  double gigabits = 0;    // per second; 0 when nobody knows
  bool emulated = false;  // a stand-in's for tests (docs/emulated_efa.md), no hardware
  // The IP network it is on, "0a4d0100/24"; empty where addresses are not IP, or are link-local and
  // so the same on every network.
  std::string network;
  int numa_node = -1;  // -1: unknown
};

Adapter describe_adapter(const fi_info& info);

// PCI order where both have an address, else by name (eth9 before eth10).
bool adapter_before(const Adapter& a, const Adapter& b);

}  // namespace heddle::transport::fabric
