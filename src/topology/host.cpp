#include "topology/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

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

int even_ranks_per_host(std::span<const std::string> hosts) {
  std::size_t per_host = 1;
  while (per_host < hosts.size() && hosts[per_host] == hosts[0]) ++per_host;
  if (hosts.size() % per_host != 0) return 0;
  std::set<std::string_view> seen;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (rank % per_host != 0 ? hosts[rank] != hosts[rank - 1] : !seen.insert(hosts[rank]).second)
      return 0;
  return static_cast<int>(per_host);
}

}  // namespace heddle::topology
