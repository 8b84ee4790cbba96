// The unique id as text: "heddle1 <secret in hex> <address>,<address>". Addresses are "ip:port" or
// "[ip6]:port" of the root, in the order in which ranks try them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "communicator/secret.hpp"
#include "heddle/heddle.h"

namespace heddle::communicator {

struct RootAddress {
  Secret secret;
  std::vector<std::string> addresses;  // none where one rank is the world
};

// As many of the addresses as fit; the first always does.
heddleUniqueId encode_unique_id(const RootAddress& root);
// Fails with heddleInvalidArgument saying what is malformed.
RootAddress decode_unique_id(const heddleUniqueId& id);

}  // namespace heddle::communicator
