// TCP sockets of the control plane: non-blocking, close-on-exec, IPv4 and IPv6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "communicator/forking.hpp"
#include "communicator/resolve.hpp"

namespace heddle::communicator {

struct Listener {
  ControlSocket socket;
  std::uint16_t port;
};

// Listens on every address of this host; port 0 takes a free one.
Listener listen_tcp(std::uint16_t port);

// Connects to the first of "ip:port", "[ip6]:port" or "name:port" that answers, trying them in turn
// until the deadline. Fails with heddleRemoteError naming each address and what it answered.
base::UniqueFd connect_tcp(const std::vector<std::string>& addresses,
                           const base::Deadline& deadline, const Resolver& resolver = ask_system);

// Seconds since the peer's kernel has shown itself, by data or by acknowledging. It is probed when
// nothing else is said, so that more than half a minute means that no packet comes through. That
// the peer's process is stopped or starved does not matter: its kernel answers for it.
double silent_seconds(int fd);

// A waiting connection, or none and the reason in errno (EAGAIN: nobody waits).
base::UniqueFd accept_tcp(const ControlSocket& listener);

}  // namespace heddle::communicator
