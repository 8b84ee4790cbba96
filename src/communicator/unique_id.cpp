#include "communicator/unique_id.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/host_port.hpp"
#include "base/text.hpp"

namespace heddle::communicator {
namespace {
constexpr std::string_view kPrefix = "heddle1 ";
constexpr std::size_t kHexDigits = 64;
}  // namespace

heddleUniqueId encode_unique_id(const RootAddress& root) {
  HEDDLE_ASSERT(!root.addresses.empty());
  std::string text = std::string(kPrefix) + base::to_hex(as_text(root.secret)) + " ";
  bool first = true;
  for (const auto& address : root.addresses) {
    if (text.size() + 1 + address.size() + 1 > HEDDLE_UNIQUE_ID_BYTES) break;
    if (!std::exchange(first, false)) text += ',';
    text += address;
  }
  heddleUniqueId id{};
  std::memcpy(id.internal, text.data(), text.size());
  return id;
}

RootAddress decode_unique_id(const heddleUniqueId& id) {
  const auto malformed = [](const char* why) {
    base::fail(heddleInvalidArgument,
               "malformed unique id: {}; pass the bytes of heddleGetUniqueId unchanged", why);
  };
  if (std::memchr(id.internal, 0, sizeof id.internal) == nullptr) malformed("no end of text");
  std::string_view text = id.internal;
  if (!text.starts_with(kPrefix)) malformed("it does not start with \"heddle1\"");
  text.remove_prefix(kPrefix.size());
  RootAddress root;
  const auto secret = base::from_hex(text.substr(0, kHexDigits));
  if (text.size() <= kHexDigits || text[kHexDigits] != ' ' || !secret)
    malformed("the secret is not 64 hexadecimal digits");
  std::copy(secret->begin(), secret->end(), root.secret.begin());
  text.remove_prefix(kHexDigits + 1);
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view address = text.substr(0, comma);
    if (!base::parse_host_port(address)) malformed("an address that is not host:port");
    root.addresses.emplace_back(address);
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  if (root.addresses.empty()) malformed("no address of the root");
  return root;
}

}  // namespace heddle::communicator
