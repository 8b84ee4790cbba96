// Where somebody listens, as people write it: "name:port", "10.0.0.1:port", "[fd00::1]:port".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::base {

inline constexpr std::string_view kHostPortAllowed =
    "host:port or [IPv6]:port, with a port from 1 to 65535";

struct HostPort {
  std::string host;  // IPv6 without its brackets
  std::uint16_t port = 0;
};

// Nothing when `text` is none of these: brackets hold an IPv6 address and only those do.
std::optional<HostPort> parse_host_port(std::string_view text);
// The text that parse_host_port reads.
std::string to_text(const HostPort& place);

}  // namespace heddle::base
