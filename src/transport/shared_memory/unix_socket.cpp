#include "transport/shared_memory/unix_socket.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace heddle::transport {
namespace {

constexpr socklen_t kNameOffset = offsetof(sockaddr_un, sun_path) + 1;  // past the leading zero

base::UniqueFd new_socket() {
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) fail_with_limit(errno, "cannot open a Unix socket for shared-memory pipes");
  return fd;
}

// Keeps the first descriptor of a control message and closes any others.
void take_descriptors(msghdr& message, base::UniqueFd& passed) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      base::UniqueFd owned(fd);
      if (!passed) passed = std::move(owned);
    }
  }
}

}  // namespace

void fail_with_limit(int error, const std::string& what) {
  switch (error) {
    case EMFILE:
    case ETOOMANYREFS: {
      rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      base::fail(heddleSystemError,
                 "{}: {} (errno {}); the limit on open files (RLIMIT_NOFILE) is {} of at most {}: "
                 "raise it with ulimit -n",
                 what, base::errno_text(error), error, limit.rlim_cur, limit.rlim_max);
    }
    case ENFILE:
      base::fail(
          heddleSystemError,
          "{}: {} (errno {}); the system's limit on open files is fs.file-max: raise it with "
          "sysctl",
          what, base::errno_text(error), error);
    case ENOMEM:
    case ENOSPC:
      base::fail(heddleSystemError,
                 "{}: {} (errno {}); free memory, raise the limit on address space (ulimit -v) or "
                 "on mappings (sysctl vm.max_map_count), or set smaller HEDDLE_SLOT_BYTES",
                 what, base::errno_text(error), error);
    default: base::fail_errno(error, what);
  }
}

Listener listen_abstract() {
  base::UniqueFd fd = new_socket();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // An address that is only a family makes the kernel choose a free abstract name.
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family) != 0 ||
      listen(fd.get(), SOMAXCONN) != 0)
    base::fail_errno(errno, "cannot listen on a Unix socket for shared-memory pipes");
  socklen_t length = sizeof address;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    base::fail_errno(errno, "cannot read the name of a Unix socket");
  return {std::move(fd), std::string(address.sun_path + 1, length - kNameOffset)};
}

Accepted accept_stream(int listener) {
  base::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) return {std::move(fd), 0};
  const int error = errno;
  // A connection that ended while it waited is none.
  if (error == EAGAIN || error == ECONNABORTED || error == EINTR) return {};
  // Without a free descriptor accept fails before it looks whether anybody waits.
  pollfd waiting = {listener, POLLIN, 0};
  return {base::UniqueFd(), poll(&waiting, 1, 0) > 0 ? error : 0};
}

base::UniqueFd open_stream(const std::string& name) {
  base::UniqueFd fd = new_socket();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  HEDDLE_ASSERT(name.size() < sizeof address.sun_path, "{} bytes", name.size());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(kNameOffset + name.size());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0) return fd;
  if (errno == EAGAIN || errno == EINTR) return {};
  if (errno == ECONNREFUSED)
    base::fail(heddleRemoteError,
               "nobody listens at the other process's Unix socket @{}: it has ended", name);
  base::fail_errno(errno, fmt::format("cannot connect to the Unix socket @{}", name));
}

PeerProcess peer_process(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    base::fail_errno(errno, "cannot tell who is at the other end of a Unix socket");
  return {peer.pid, peer.uid};
}

Io send_message(int socket, const void* data, std::size_t bytes, int passed) {
  iovec part = {const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof passed)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
  }
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes)) return Io::done;
  if (sent >= 0) return Io::closed;  // half a message cannot be completed: give the stream up
  if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS) return Io::again;
  if (errno == EPIPE || errno == ECONNRESET) return Io::closed;
  fail_with_limit(errno, "cannot send on a Unix socket");
}

Io receive_message(int socket, void* data, std::size_t bytes, std::size_t& have,
                   base::UniqueFd* passed) {
  while (have < bytes) {
    iovec part = {static_cast<std::byte*>(data) + have, bytes - have};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (passed != nullptr) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Io::again;
    if (got <= 0) return Io::closed;
    have += static_cast<std::size_t>(got);
    if (passed == nullptr) continue;
    take_descriptors(message, *passed);
    // The kernel drops a descriptor that the process has no room for and says only this.
    if (!*passed && (message.msg_flags & MSG_CTRUNC) != 0)
      fail_with_limit(EMFILE, "cannot receive the memory of a shared-memory pipe");
  }
  return Io::done;
}

}  // namespace heddle::transport
