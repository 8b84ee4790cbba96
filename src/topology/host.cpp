#include "topology/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/host_name.hpp"
#include "topology/system_files.hpp"

namespace heddle::topology {
namespace {

std::string network_namespace() {
  struct stat status {};
  if (stat("/proc/self/ns/net", &status) != 0)
    base::fail_errno(errno,
                     "cannot tell the network namespace from /proc/self/ns/net (HEDDLE_HOSTID can "
                     "name this host instead)");
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

}  // namespace

Host this_host(const base::Settings& settings) {
  Host host;
  host.name = base::host_name();
  // The two kinds never meet: a name that someone chose cannot equal one that was found.
  if (!settings.host_id.empty()) {
    host.id = base::digest("named\n" + settings.host_id);
    return host;
  }
  // A sandbox may hide the boot id; namespace and name then still tell its neighbours apart.
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  host.id = base::digest("found\n" + boot + "\n" + network_namespace() + "\n" + host.name);
  return host;
}

}  // namespace heddle::topology
