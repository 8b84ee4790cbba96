// Where a process's shared-memory transport is found: "shm:<socket, hex>:<pid>:<network
// namespace>".
#pragma once

#include <cstdint>
#include <string>

namespace heddle::transport {

struct Address {
  std::string socket;  // abstract name
  int pid = 0;
  std::uint64_t namespace_id = 0;  // inode of the network namespace; 0 when /proc does not say

  std::string text() const;
};

// Fails with heddleInvalidArgument when malformed.
Address parse_address(const std::string& text);

std::uint64_t own_network_namespace();

}  // namespace heddle::transport
