// The processor time that control groups grant this process.
#pragma once

#include <optional>
#include <string>

namespace heddle::topology {

// Processors' worth of time (1.5: one and a half), the least of all levels from this process's
// group up, in cgroup version 2 (cpu.max) or 1 (cpu.cfs_quota_us); nothing when there is no limit.
// Files are read below `root`: "" is the real machine.
std::optional<double> cpu_quota(const std::string& root);

}  // namespace heddle::topology
