// The owner of an hwloc topology, and the questions we ask one.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "topology/cpu.hpp"

namespace heddle::topology {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

// This machine with the processors that the process may not use, or, for tests, a made-up one in
// hwloc's synthetic notation ("package:2 numa:1 core:4 pu:2"). Takes a few milliseconds. Fails with
// heddleSystemError.
Topology load_topology(const std::string& synthetic = "");
// This machine, loaded once; read-only, so threads may share it.
hwloc_topology_t this_machine();

// The node that holds all of `cpus`, or -1.
int numa_node_of(hwloc_topology_t topology, const std::vector<int>& cpus);
CacheSizes caches_of(hwloc_topology_t topology, int cpu);
MachineFacts facts_of(hwloc_topology_t topology);

}  // namespace heddle::topology
