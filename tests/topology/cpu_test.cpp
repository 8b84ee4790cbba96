#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "catch.hpp"
#include "support/temporary_folder.hpp"
#include "topology/cgroup.hpp"
#include "topology/cpu.hpp"
#include "topology/hwloc_topology.hpp"

using namespace heddle::topology;

namespace {

// A folder that stands for "/".
using FakeRoot = heddle::test::TemporaryFolder;

const std::string kV2Mount = "31 23 0:26 / /cg rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kV1Mount = "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace

TEST_CASE("processor lists are written as ranges") {
  CHECK(to_text({}) == "");
  CHECK(to_text({5}) == "5");
  CHECK(to_text({0, 1}) == "0-1");
  CHECK(to_text({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(to_text({0, 2, 4, 5}) == "0,2,4-5");
}

TEST_CASE("the calling thread's affinity is its place") {
  const CpuPlace all = cpu_place();
  REQUIRE(!all.cpus.empty());
  CHECK(std::is_sorted(all.cpus.begin(), all.cpus.end()));
  CpuPlace one;
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(all.cpus.back()), &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0) one = cpu_place();
  }).join();
  CHECK(one.cpus == std::vector<int>{all.cpus.back()});
  CHECK(usable_cpus() >= 1);
  CHECK(usable_cpus() <= static_cast<int>(all.cpus.size()));
}

TEST_CASE("processors are on a NUMA node only when all of them are") {
  const Topology machine = load_topology("package:2 numa:1 l3:1 core:4 pu:2");  // 8 threads a node
  CHECK(numa_node_of(machine.get(), {0, 1, 7}) == 0);
  CHECK(numa_node_of(machine.get(), {8}) == 1);
  CHECK(numa_node_of(machine.get(), {8, 15}) == 1);
  CHECK(numa_node_of(machine.get(), {7, 8}) == -1);
  CHECK(numa_node_of(machine.get(), {}) == -1);
  CHECK(numa_node_of(machine.get(), {99}) == -1);
}

TEST_CASE("caches and counts of made-up machines") {
  const Topology big = load_topology(
      "package:2 numa:2(memory=1073741824) l3:1(size=33554432) core:4 l2:1(size=1048576) "
      "l1d:1(size=32768) pu:2");
  const CacheSizes sizes = caches_of(big.get(), 3);
  CHECK(sizes.l1d == 32768);
  CHECK(sizes.l2 == 1048576);
  CHECK(sizes.l3 == 33554432);
  const MachineFacts facts = facts_of(big.get());
  CHECK(facts.packages == 2);
  CHECK(facts.numa_nodes == 4);
  CHECK(facts.cores == 16);
  CHECK(facts.hardware_threads == 32);
  CHECK(facts.memory_bytes == 4ull << 30);

  const Topology plain = load_topology("core:2 pu:1");
  CHECK(caches_of(plain.get(), 0).l3 == 0);
  CHECK(caches_of(plain.get(), 77).l2 == 0);
  CHECK_THROWS(load_topology("no such machine"));
}

TEST_CASE("this machine's facts are plausible") {
  const MachineFacts facts = machine_facts();
  CHECK(facts.hardware_threads >= static_cast<int>(cpu_place().cpus.size()));
  CHECK(facts.cores >= 1);
  CHECK(facts.numa_nodes >= 1);
  CHECK(facts.memory_bytes > 1u << 20);
}

TEST_CASE("no control group means no quota") {
  const FakeRoot root;
  CHECK(!cpu_quota(root.path()));
  root.write("/proc/self/mountinfo", "31 23 0:26 / /home rw - ext4 /dev/sda1 rw\nbroken - line\n");
  root.write("/proc/self/cgroup", "0::/\n");
  CHECK(!cpu_quota(root.path()));
}

TEST_CASE("version 2 quota is the least of all levels") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", kV2Mount);
  root.write("/proc/self/cgroup", "0::/job.slice/step\n");
  root.write("/cg/job.slice/step/cpu.max", "max 100000\n");
  CHECK(!cpu_quota(root.path()));
  root.write("/cg/job.slice/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root.path()).value() == 1.5);
  root.write("/cg/job.slice/step/cpu.max", "400000 100000\n");
  CHECK(cpu_quota(root.path()).value() == 1.5);
  root.write("/cg/cpu.max", "50000 100000\n");
  CHECK(cpu_quota(root.path()).value() == 0.5);
  root.write("/cg/cpu.max", "nonsense\n");
  CHECK(cpu_quota(root.path()).value() == 1.5);
}

TEST_CASE("version 1 quota, seen from a container that mounts its own group") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo",
             "32 31 0:29 /docker/abc /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  root.write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n");
  root.write("/cg/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("/cg/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(!cpu_quota(root.path()));
  root.write("/cg/cpu/cpu.cfs_quota_us", "250000\n");
  CHECK(cpu_quota(root.path()).value() == 2.5);
}

TEST_CASE("cpuset and cpuacct hierarchies are not taken for cpu's") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", "32 31 0:29 / /cg/set rw - cgroup cgroup rw,cpuset\n");
  root.write("/proc/self/cgroup", "3:cpuset:/\n");
  root.write("/cg/set/cpu.cfs_quota_us", "100000\n");
  root.write("/cg/set/cpu.cfs_period_us", "100000\n");
  CHECK(!cpu_quota(root.path()));
}

TEST_CASE("with both versions mounted the lower quota counts") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", kV2Mount + kV1Mount);
  root.write("/proc/self/cgroup", "1:cpu,cpuacct:/a\n0::/b\n");
  root.write("/cg/b/cpu.max", "300000 100000\n");
  root.write("/cg/cpu/a/cpu.cfs_quota_us", "200000\n");
  root.write("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
  CHECK(cpu_quota(root.path()).value() == 2.0);
}

TEST_CASE("a group outside the mounted one is judged by the mount point") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", kV2Mount);
  root.write("/proc/self/cgroup", "0::/../sibling\n");
  root.write("/cg/cpu.max", "100000 100000\n");
  root.write("/sibling/cpu.max", "1 100000\n");
  CHECK(cpu_quota(root.path()).value() == 1.0);
}
