#include "topology/cpu.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/cgroup.hpp"
#include "topology/hwloc_topology.hpp"

namespace heddle::topology {
namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

std::vector<int> allowed_cpus() {
  // The kernel refuses with EINVAL a set smaller than its own, which may be past CPU_SETSIZE.
  for (int room = CPU_SETSIZE; room <= (1 << 20); room *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(room));
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      base::fail_errno(errno, "cannot read the processor affinity");
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < room; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
    return cpus;
  }
  base::fail(heddleSystemError, "cannot read the processor affinity: over {} processors", 1 << 20);
}

}  // namespace

CpuPlace cpu_place() {
  CpuPlace place{allowed_cpus(), -1};
  place.numa_node = numa_node_of(this_machine(), place.cpus);
  return place;
}

std::string to_text(const std::vector<int>& cpus) { return base::ranges_text(cpus, ","); }

int usable_cpus() {
  const int allowed = static_cast<int>(allowed_cpus().size());
  const std::optional<double> quota = cpu_quota("");
  if (!quota || *quota >= allowed) return std::max(1, allowed);
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

CacheSizes cache_sizes() { return caches_of(this_machine(), allowed_cpus().front()); }

MachineFacts machine_facts() { return facts_of(this_machine()); }

}  // namespace heddle::topology
