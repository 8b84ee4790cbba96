// Names of hosts to addresses, within a deadline: the system's resolver may take as long as it
// likes, and nothing can call it off.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/host_port.hpp"

namespace heddle::communicator {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// Best first; none when the name is not known.
using Resolver = std::function<std::vector<SocketAddress>(const base::HostPort&)>;
std::vector<SocketAddress> ask_system(const base::HostPort& place);

// Nothing when the deadline passed first. A numeric address asks nobody. `resolver` runs on a
// thread of its own, which may outlive the call.
std::optional<std::vector<SocketAddress>> resolve(const base::HostPort& place,
                                                  const base::Deadline& deadline,
                                                  const Resolver& resolver);

}  // namespace heddle::communicator
