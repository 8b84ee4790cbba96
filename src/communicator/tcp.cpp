#include "communicator/tcp.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "base/host_port.hpp"

namespace heddle::communicator {
namespace {

using base::UniqueFd;

constexpr base::Seconds kOneAttempt{3};
constexpr std::chrono::milliseconds kBetweenRounds{100};

UniqueFd new_socket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd && (errno == EMFILE || errno == ENFILE)) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    base::fail(heddleSystemError,
               "no file descriptor left for a socket: the limit of open files (ulimit -n) is {}",
               limit.rlim_cur);
  }
  return fd;
}

// Sends at once, and probes a silent peer. For silent_seconds alone: a connection may lie still for
// a quarter of an hour before the kernel gives it up, as if data were on its way.
void configure(const UniqueFd& fd) {
  const int on = 1;
  const int probe_seconds = 7;
  const int most_probes = 127;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &probe_seconds, sizeof probe_seconds);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &most_probes, sizeof most_probes);
  setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

UniqueFd bind_and_listen(int family, std::uint16_t port) {
  UniqueFd fd = new_socket(family);
  if (!fd) return fd;
  const int on = 1;
  const int off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  int bound = -1;
  if (family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&six), sizeof six);
  } else {
    bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&four), sizeof four);
  }
  if (bound != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE)
      base::fail(heddleSystemError, "port {} for the ranks to meet on is in use", port);
    fd.reset();
  }
  return fd;
}

// The addresses of "host:port"; none, and the reason in `why`, when there are none in time.
std::vector<SocketAddress> addresses_of(const std::string& text, const base::Deadline& deadline,
                                        const Resolver& resolver, std::string& why) {
  const auto place = base::parse_host_port(text);
  if (!place)
    base::fail(heddleInvalidArgument, "address {}: allowed is {}", text, base::kHostPortAllowed);
  const auto found = resolve(*place, deadline, resolver);
  why = found ? "the name does not resolve" : "the resolver of names does not answer";
  return found.value_or(std::vector<SocketAddress>());
}

// Whether the connection leads back to its own socket. Where nobody listens on a port from which
// the kernel takes the ports of those who connect, it may take that very one: then both ends of a
// "simultaneous open" are the same socket.
bool meets_itself(const UniqueFd& fd) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  return getsockname(fd.get(), reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         getpeername(fd.get(), reinterpret_cast<sockaddr*>(&there), &there_size) == 0 &&
         here_size == there_size && std::memcmp(&here, &there, here_size) == 0;
}

// A connected socket, or none and the reason in `why`.
UniqueFd try_connect(const SocketAddress& target, const base::Deadline& deadline,
                     std::string& why) {
  UniqueFd fd = new_socket(target.storage.ss_family);
  if (!fd) return why = base::errno_text(errno), UniqueFd();
  const base::Deadline attempt(kOneAttempt);
  int error = 0;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&target.storage), target.size) != 0)
    error = errno;
  while (error == EINPROGRESS) {
    pollfd entry{fd.get(), POLLOUT, 0};
    if (attempt.passed() || deadline.passed()) return why = "no answer", UniqueFd();
    const int ready = poll(&entry, 1, std::min(attempt.poll_ms(1000), deadline.poll_ms(1000)));
    if (ready <= 0) continue;
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error == 0 && meets_itself(fd)) error = ECONNREFUSED;
  if (error != 0) return why = base::errno_text(error), UniqueFd();
  configure(fd);
  return fd;
}

}  // namespace

Listener listen_tcp(std::uint16_t port) {
  UniqueFd fd = bind_and_listen(AF_INET6, port);
  if (!fd) fd = bind_and_listen(AF_INET, port);  // a host without IPv6
  if (!fd) base::fail_errno(errno, fmt::format("listening on port {}", port));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  const std::uint16_t taken = bound.ss_family == AF_INET6
                                  ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                  : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  return {ControlSocket(std::move(fd)), ntohs(taken)};
}

UniqueFd connect_tcp(const std::vector<std::string>& addresses, const base::Deadline& deadline,
                     const Resolver& resolver) {
  std::string answers;  // of the last whole round: a try that the deadline cuts short says little
  while (true) {
    std::string round;
    for (const auto& address : addresses) {
      std::string why;
      for (const auto& target : addresses_of(address, deadline, resolver, why))
        if (UniqueFd fd = try_connect(target, deadline, why)) return fd;
      round += fmt::format("{}{}: {}", round.empty() ? "" : "; ", address, why);
    }
    if (!deadline.passed() || answers.empty()) answers = round;
    if (deadline.passed())
      base::fail(heddleRemoteError, "the root of the communicator cannot be reached ({})", answers);
    std::this_thread::sleep_for(kBetweenRounds);
  }
}

double silent_seconds(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) / 1000.0;
}

UniqueFd accept_tcp(const ControlSocket& listener) {
  UniqueFd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    configure(fd);
    errno = 0;
    return fd;
  }
  // Without a free descriptor accept fails before it looks whether anybody waits.
  const int error = errno;
  pollfd waiting{listener.get(), POLLIN, 0};
  errno = poll(&waiting, 1, 0) > 0 ? error : EAGAIN;
  return fd;
}

}  // namespace heddle::communicator
