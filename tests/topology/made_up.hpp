// Interfaces that no machine has, for tests of pure functions.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "topology/interfaces.hpp"

namespace heddle::topology::made_up {

inline Address address(const std::string& text) {
  Address made;
  made.text = text;
  sockaddr_in ip4{};
  sockaddr_in6 ip6{};
  ip4.sin_family = AF_INET;
  ip6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET, text.c_str(), &ip4.sin_addr) == 1) {
    std::memcpy(&made.storage, &ip4, sizeof ip4);
  } else if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &ip6.sin6_addr) == 1) {
    std::memcpy(&made.storage, &ip6, sizeof ip6);
  } else {
    throw std::invalid_argument(text);
  }
  return made;
}

// Up, with these addresses.
inline Interface interface(const std::string& name, const std::vector<std::string>& addresses,
                           long speed_mbit = -1, const std::string& pci = "") {
  Interface made;
  made.name = name;
  made.up = true;
  made.pci = pci;
  made.speed_mbit = speed_mbit;
  for (const auto& text : addresses) made.addresses.push_back(address(text));
  return made;
}

inline Interface lo() {
  Interface made = interface("lo", {"127.0.0.1", "::1"});
  made.loopback = true;
  return made;
}

inline Interface docker0() {
  Interface made = interface("docker0", {"172.17.0.1"}, 10000);
  made.bridge_like = true;
  return made;
}

}  // namespace heddle::topology::made_up
