#include "communicator/local_meeting.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/hash.hpp"
#include "base/thread.hpp"
#include "topology/host.hpp"

namespace heddle::communicator {
namespace {

using base::UniqueFd;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
  std::string text;
};

Name name_of(const std::string& job) {
  Name name;
  name.text = fmt::format("heddle-{}-{}", getuid(), base::digest(job));
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, name.text.data(), name.text.size());
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.text.size());
  return name;
}

bool same_user(const UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == getuid();
}

}  // namespace

class LocalMeeting::Host {
 public:
  Host(const std::string& job, const heddleUniqueId& id)
      : id_(id),
        listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    const Name name = name_of(job);
    if (!listener_ || !stop_ ||
        bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
        listen(listener_.get(), SOMAXCONN) != 0)
      base::fail_errno(errno, "meeting the ranks of this host at @" + name.text);
    thread_ = base::start_thread("heddle-meeting", [this] { answer(); });
  }
  ~Host() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

 private:
  void answer() {
    while (true) {
      pollfd entries[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (poll(entries, 2, -1) < 0 && errno != EINTR) return;
      if (entries[1].revents != 0) return;
      const UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      // The id is smaller than any socket buffer, so this does not block.
      if (peer && same_user(peer)) [[maybe_unused]]
        const auto sent = send(peer.get(), &id_, sizeof id_, MSG_NOSIGNAL);
    }
  }

  const heddleUniqueId id_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::thread thread_;
};

LocalMeeting::LocalMeeting(const std::string& job, const heddleUniqueId& id)
    : host_(std::make_unique<Host>(job, id)) {}
LocalMeeting::~LocalMeeting() = default;

heddleUniqueId ask_local_root(const std::string& job, const base::Deadline& deadline) {
  const Name name = name_of(job);
  while (!deadline.passed()) {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{1, 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})  // the latter bounds connect
      if (fd) setsockopt(fd.get(), SOL_SOCKET, option, &patience, sizeof patience);
    if (fd && connect(fd.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0 &&
        same_user(fd)) {
      heddleUniqueId id;
      if (recv(fd.get(), &id, sizeof id, MSG_WAITALL) == static_cast<ssize_t>(sizeof id)) return id;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  base::fail(heddleTimeout, "rank 0 of this job did not show up on this host (asked at @{})",
             name.text);
}

}  // namespace heddle::communicator
