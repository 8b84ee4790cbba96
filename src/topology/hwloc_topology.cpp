#include "topology/hwloc_topology.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace heddle::topology {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

int count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
}

}  // namespace

Topology load_topology(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) base::fail_errno(errno, "hwloc cannot start");
  Topology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0)
    base::fail_errno(errno, "hwloc does not take the synthetic machine \"" + synthetic + "\"");
  if (hwloc_topology_load(raw) != 0) base::fail_errno(errno, "hwloc cannot read this machine");
  return topology;
}

hwloc_topology_t this_machine() {
  static const Topology topology = load_topology();
  return topology.get();
}

int numa_node_of(hwloc_topology_t topology, const std::vector<int>& cpus) {
  if (cpus.empty()) return -1;
  const Bitmap set(hwloc_bitmap_alloc());
  for (const int cpu : cpus) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
  // Where several kinds of memory share processors, the first node is the ordinary memory.
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (hwloc_bitmap_isincluded(set.get(), node->cpuset) != 0)
      return static_cast<int>(node->os_index);
  return -1;
}

CacheSizes caches_of(hwloc_topology_t topology, int cpu) {
  CacheSizes sizes;
  hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(cpu));
  for (; object != nullptr; object = object->parent) {
    if (object->type == HWLOC_OBJ_L1CACHE) sizes.l1d = object->attr->cache.size;
    if (object->type == HWLOC_OBJ_L2CACHE) sizes.l2 = object->attr->cache.size;
    if (object->type == HWLOC_OBJ_L3CACHE) sizes.l3 = object->attr->cache.size;
  }
  return sizes;
}

MachineFacts facts_of(hwloc_topology_t topology) {
  MachineFacts facts;
  facts.packages = count_of(topology, HWLOC_OBJ_PACKAGE);
  facts.cores = count_of(topology, HWLOC_OBJ_CORE);
  facts.hardware_threads = count_of(topology, HWLOC_OBJ_PU);
  facts.numa_nodes = count_of(topology, HWLOC_OBJ_NUMANODE);
  facts.memory_bytes = hwloc_get_root_obj(topology)->total_memory;
  // hwloc hangs the model on the package, or on the machine where packages are not told apart.
  for (hwloc_obj_t object :
       {hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology)}) {
    const char* model =
        object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, "CPUModel");
    if (model != nullptr && facts.cpu_model.empty()) facts.cpu_model = model;
  }
  return facts;
}

}  // namespace heddle::topology
