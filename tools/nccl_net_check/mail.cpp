#include "nccl_net_check/mail.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/error.hpp"
#include "nccl_net_check/failure.hpp"

namespace heddle::net_check {

std::vector<Mail> Mail::among(int ranks) {
  std::vector<Mail> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    all[rank].self_ = rank;
    all[rank].sockets_.resize(static_cast<std::size_t>(ranks));
  }
  for (int low = 0; low < ranks; ++low)
    for (int high = low + 1; high < ranks; ++high) {
      std::array<int, 2> ends{};
      if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        base::fail_errno(errno, "socketpair");
      all[low].sockets_[high] = base::UniqueFd(ends[0]);
      all[high].sockets_[low] = base::UniqueFd(ends[1]);
    }
  return all;
}

void Mail::send(int to, std::span<const std::byte> message) {
  const auto sent = ::send(sockets_[to].get(), message.data(), message.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(message.size())) throw PeerGone(fmt::format("rank {} left", to));
}

void Mail::receive(int from, std::span<std::byte> message, base::Seconds patience) {
  const base::Deadline deadline(patience);
  pollfd wait{sockets_[from].get(), POLLIN, 0};
  while (poll(&wait, 1, deadline.poll_ms(1000)) <= 0)
    if (deadline.passed())
      throw PeerGone(fmt::format("rank {} was not ready within {} s", from, patience.count()));
  const auto got = recv(sockets_[from].get(), message.data(), message.size(), 0);
  if (got != static_cast<ssize_t>(message.size()))
    throw PeerGone(fmt::format("rank {} left", from));
}

bool Mail::arrived(int from) const {
  pollfd ready{sockets_[from].get(), POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

void Mail::barrier(base::Seconds patience) {
  const auto ranks = static_cast<int>(sockets_.size());
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != self_) send(rank, std::byte{1});
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != self_) receive<std::byte>(rank, patience);
}

}  // namespace heddle::net_check
