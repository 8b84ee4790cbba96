// Which machine a rank runs on, as far as sharing memory goes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/settings.hpp"

namespace heddle::topology {

struct Host {
  std::string id;    // 16 hexadecimal digits; ranks with the same id can share memory
  std::string name;  // as the system calls itself; for people, never resolved to an address
};

// Made from the boot, the network namespace (abstract Unix sockets end at its border) and the host
// name, or from HEDDLE_HOSTID alone when that is set. Fails with heddleSystemError when /proc is
// not there to tell the namespace. Thread-safe.
Host this_host(const base::Settings& settings);

// The ranks of each host, of the hosts of ranks 0, 1, ... : as collectives::Shape wants it, 0 where
// the hosts have not equally many ranks, one host's after another's. Requires a rank.
int even_ranks_per_host(std::span<const std::string> hosts);

}  // namespace heddle::topology
