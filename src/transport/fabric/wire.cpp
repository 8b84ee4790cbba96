#include "transport/fabric/wire.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace heddle::transport::fabric {

namespace {

// The MAC is the last member: it covers all bytes before it.
template <typename Message>
Mac mac_of(const Message& message, const PipeSecret& secret) {
  return base::Hasher(secret).add(&message, sizeof(Message) - sizeof(Mac)).finish();
}

template <typename Message>
bool has_mac(const Message& message, const PipeSecret& secret) {
  return base::same(mac_of(message, secret), message.mac);
}

constexpr std::string_view kAddressStart = "heddle-fabric-2";

bool parse_bytes(std::string_view text, std::vector<std::uint8_t>& bytes) {
  const auto parsed = base::from_hex(text);
  if (!parsed || parsed->empty() || parsed->size() > 256) return false;
  bytes.assign(parsed->begin(), parsed->end());
  return true;
}

// Splits at `separator` and calls `use` with each part; false when any use is false.
template <typename Use>
bool each_part(std::string_view text, char separator, Use use) {
  while (true) {
    const std::size_t end = text.find(separator);
    if (!use(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::size_t encode(const Credit& credit, int rails, std::byte* to) {
  std::memcpy(to, &credit.address, 8);
  std::memcpy(to + 8, &credit.bytes, 8);
  std::memcpy(to + 16, &credit.tag, 4);
  std::memcpy(to + 20, &credit.after, 4);
  std::memcpy(to + 24, credit.keys.data(), 8 * static_cast<std::size_t>(rails));
  return credit_bytes(rails);
}

Credit decode_credit(const std::byte* from, int rails) {
  Credit credit;
  std::memcpy(&credit.address, from, 8);
  std::memcpy(&credit.bytes, from + 8, 8);
  std::memcpy(&credit.tag, from + 16, 4);
  std::memcpy(&credit.after, from + 20, 4);
  std::memcpy(credit.keys.data(), from + 24, 8 * static_cast<std::size_t>(rails));
  return credit;
}

void seal(Hello& hello, const PipeSecret& secret) { hello.mac = mac_of(hello, secret); }
bool sealed_by(const Hello& hello, const PipeSecret& secret) { return has_mac(hello, secret); }
void seal(Welcome& welcome, const PipeSecret& secret) { welcome.mac = mac_of(welcome, secret); }
bool sealed_by(const Welcome& welcome, const PipeSecret& secret) {
  return has_mac(welcome, secret);
}

namespace {

std::string plain(std::string text) {
  for (char& c : text)
    if (c == ' ' || c == ',' || c == '@' || c == '=') c = '_';
  return text;
}

bool parse_rail(std::string_view text, ProcessAddress::RailAddress& rail) {
  int part = 0;
  const auto use = [&](std::string_view field) {
    switch (part++) {
      case 0: return base::parse_number(field, rail.generation);
      case 1: return base::parse_number(field, rail.gigabits);
      case 2: return rail.adapter = field, !field.empty();
      case 3: return rail.network = field, true;
      case 4: return parse_bytes(field, rail.address);
      default: return false;
    }
  };
  return each_part(text, '@', use) && part == 5;
}

}  // namespace

std::string to_text(const ProcessAddress& address) {
  std::string rails;
  for (const auto& rail : address.rails)
    rails +=
        fmt::format("{}{}@{:g}@{}@{}@{:02x}", rails.empty() ? "" : ",", rail.generation,
                    rail.gigabits, plain(rail.adapter), rail.network, fmt::join(rail.address, ""));
  return fmt::format("{} provider={} protocol={} path={} instance={:016x} host={} pid={} rails={}",
                     kAddressStart, address.provider, address.protocol,
                     address.rma ? "rma" : "message", address.instance, address.host, address.pid,
                     rails);
}

ProcessAddress parse_address(const std::string& text) {
  ProcessAddress address;
  std::map<std::string_view, std::string_view> fields;
  const bool split = each_part(text, ' ', [&](std::string_view part) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return fields.empty() && part == kAddressStart;
    return fields.emplace(part.substr(0, equals), part.substr(equals + 1)).second;
  });
  const bool good =
      split && text.starts_with(kAddressStart) && !fields["provider"].empty() &&
      (fields["path"] == "rma" || fields["path"] == "message") &&
      base::parse_number(fields["instance"], address.instance, 16) &&
      base::parse_number(fields["pid"], address.pid) &&
      each_part(fields["rails"], ',', [&](std::string_view part) {
        return address.rails.size() < kMaxRails && parse_rail(part, address.rails.emplace_back());
      });
  if (!good)
    base::fail(heddleInvalidArgument,
               "\"{}\" is no fabric address; one starts with \"{}\" and has provider, protocol, "
               "path, instance, host, pid and rails",
               text, kAddressStart);
  address.provider = fields["provider"];
  address.protocol = fields["protocol"];
  address.rma = fields["path"] == "rma";
  address.host = fields["host"];
  return address;
}

}  // namespace heddle::transport::fabric
