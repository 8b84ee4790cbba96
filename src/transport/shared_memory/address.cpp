#include "transport/shared_memory/address.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace heddle::transport {
namespace {

// The front of `rest` up to ':' or the end; removes both from `rest`.
std::string_view next_part(std::string_view& rest) {
  const std::size_t end = rest.find(':');
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool parse_socket(std::string_view hex, std::string& socket) {
  if (hex.empty() || hex.size() / 2 >= sizeof(sockaddr_un::sun_path)) return false;
  const auto bytes = base::from_hex(hex);
  socket = bytes.value_or("");
  return bytes.has_value();
}

}  // namespace

std::string Address::text() const {
  return fmt::format("shm:{}:{}:{}", base::to_hex(socket), pid, namespace_id);
}

Address parse_address(const std::string& text) {
  Address address;
  std::string_view rest = text;
  const bool good = next_part(rest) == "shm" && parse_socket(next_part(rest), address.socket) &&
                    base::parse_number(next_part(rest), address.pid) &&
                    base::parse_number(next_part(rest), address.namespace_id) && rest.empty();
  if (!good)
    base::fail(heddleInvalidArgument,
               "malformed shared-memory address '{}': shm:<hex>:<pid>:<namespace> is allowed",
               text);
  return address;
}

std::uint64_t own_network_namespace() {
  struct stat status = {};
  return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

}  // namespace heddle::transport
