// An endpoint's address as EFA has it: 32 bytes, of which the last 8 stay zero. The GID is
// link-local; here its last four bytes are the IPv4 address of the interface underneath, and the
// queue pair's number is the TCP port. The random qkey tells a restarted peer from the old one.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <compare>
#include <cstdint>
#include <cstring>
#include <string>

namespace emulated_efa {

struct EfaAddress {
  std::uint8_t gid[16];
  std::uint16_t qpn;
  std::uint16_t pad;
  std::uint32_t qkey;
  std::uint64_t reserved;

  bool operator==(const EfaAddress& other) const {
    return std::memcmp(this, &other, 24) == 0;  // all but the reserved part
  }
  bool operator<(const EfaAddress& other) const { return std::memcmp(this, &other, 24) < 0; }
};
static_assert(sizeof(EfaAddress) == 32);

inline EfaAddress address_from(const sockaddr_in& socket, int adapter, std::uint32_t qkey) {
  EfaAddress address{};
  address.gid[0] = 0xfe;
  address.gid[1] = 0x80;
  address.gid[11] = static_cast<std::uint8_t>(adapter);
  std::memcpy(address.gid + 12, &socket.sin_addr, 4);
  address.qpn = ntohs(socket.sin_port);
  address.qkey = qkey;
  return address;
}

inline sockaddr_in socket_of(const EfaAddress& address) {
  sockaddr_in socket{};
  socket.sin_family = AF_INET;
  socket.sin_port = htons(address.qpn);
  std::memcpy(&socket.sin_addr, address.gid + 12, 4);
  return socket;
}

inline std::string gid_text(const EfaAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, address.gid, text, sizeof text);
  return text;
}

inline std::string to_text(const EfaAddress& address) {
  return fmt::format("fi_addr_efa://[{}]:{}:{}", gid_text(address), address.qpn, address.qkey);
}

}  // namespace emulated_efa
