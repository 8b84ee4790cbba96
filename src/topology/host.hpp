// Which machine a rank runs on, as far as sharing memory goes.
#pragma once

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

}  // namespace heddle::topology
