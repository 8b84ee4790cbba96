#include "topology/host.hpp"

#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "topology/system_files.hpp"

namespace heddle::topology {
namespace {

std::string host_name() {
  std::array<char, 256> name{};  // Linux allows 64; the last byte stays zero
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string network_namespace() {
  struct stat status {};
  if (stat("/proc/self/ns/net", &status) != 0)
    base::fail_errno(errno,
                     "cannot tell the network namespace from /proc/self/ns/net (HEDDLE_HOSTID can "
                     "name this host instead)");
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

}  // namespace

std::string short_hash(std::string_view text) {
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash;
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::string digits;
  for (std::size_t i = 0; i < 8; ++i) digits += fmt::format("{:02x}", hash[i]);
  return digits;
}

Host this_host(const base::Settings& settings) {
  Host host;
  host.name = host_name();
  // The two kinds never meet: a name that someone chose cannot equal one that was found.
  if (!settings.host_id.empty()) {
    host.id = short_hash("named\n" + settings.host_id);
    return host;
  }
  // A sandbox may hide the boot id; namespace and name then still tell its neighbours apart.
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  host.id = short_hash("found\n" + boot + "\n" + network_namespace() + "\n" + host.name);
  return host;
}

}  // namespace heddle::topology
