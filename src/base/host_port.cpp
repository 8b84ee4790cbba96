#include "base/host_port.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace heddle::base {

std::optional<HostPort> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  // A colon outside brackets may be one of the address's own: where the port begins is not clear.
  if (host.empty() || has_space(host) || host.find_first_of("[]") != host.npos ||
      (host.find(':') != host.npos) != brackets)
    return std::nullopt;
  HostPort place{std::string(host), 0};
  if (!parse_number(text.substr(colon + 1), place.port) || place.port == 0) return std::nullopt;
  return place;
}

std::string to_text(const HostPort& place) {
  const bool brackets = place.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", place.host, brackets ? "]" : "", place.port);
}

}  // namespace heddle::base
