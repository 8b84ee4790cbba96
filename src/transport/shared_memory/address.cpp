#include "transport/shared_memory/address.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace heddle::transport {
namespace {

// The front of `rest` up to ':' or the end; removes both from `rest`.
std::string_view next_part(std::string_view& rest) {
  const std::size_t end = rest.find(':');
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

template <typename T>
bool parse(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_socket(std::string_view hex, std::string& socket) {
  if (hex.empty() || hex.size() % 2 != 0) return false;
  if (hex.size() / 2 >= sizeof(sockaddr_un::sun_path)) return false;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    std::uint8_t byte = 0;
    if (!parse(hex.substr(i, 2), 16, byte)) return false;
    socket.push_back(static_cast<char>(byte));
  }
  return true;
}

}  // namespace

std::string Address::text() const {
  std::string hex;
  for (const char c : socket) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return fmt::format("shm:{}:{}:{}", hex, pid, namespace_id);
}

Address parse_address(const std::string& text) {
  Address address;
  std::string_view rest = text;
  const bool good = next_part(rest) == "shm" && parse_socket(next_part(rest), address.socket) &&
                    parse(next_part(rest), 10, address.pid) &&
                    parse(next_part(rest), 10, address.namespace_id) && rest.empty();
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
