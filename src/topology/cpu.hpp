// The processors that this process may use, and the machine around them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::topology {

struct CpuPlace {
  std::vector<int> cpus;  // the system's numbers, ascending
  int numa_node;          // -1: they span nodes, or it is not known
};

// Where the calling thread may run: its affinity, within the cgroup's cpuset. Ranks are placed by
// their launcher before they start threads, so this is the process's place too. Thread-safe. Fails
// with heddleSystemError.
CpuPlace cpu_place();

// "0-3,8"
std::string to_text(const std::vector<int>& cpus);

// How many threads of this process can really run at once: the allowed processors, or fewer when a
// cgroup's quota (of any level, version 1 or 2) is below; at least 1. Thread-safe.
int usable_cpus();

// Bytes of the caches that the first allowed processor sees; 0: not known. A virtual machine may
// report a last-level cache that it shares with strangers.
struct CacheSizes {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t l3 = 0;
};
CacheSizes cache_sizes();

// The whole machine, whatever part of it this process may use.
struct MachineFacts {
  std::string cpu_model;  // "" when not known
  int packages = 0;
  int cores = 0;
  int hardware_threads = 0;
  int numa_nodes = 0;
  std::size_t memory_bytes = 0;
};
MachineFacts machine_facts();

}  // namespace heddle::topology
