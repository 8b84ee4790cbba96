#include "communicator/message_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace heddle::communicator {
namespace {

constexpr std::size_t kHeader = 5;

void wait_for(int fd, short events, const base::Deadline& deadline, const std::string& what) {
  pollfd entry{fd, events, 0};
  if (deadline.passed()) base::fail(heddleTimeout, "{}: no answer in time", what);
  if (poll(&entry, 1, deadline.poll_ms(1000)) < 0 && errno != EINTR)
    base::fail_errno(errno, what + ": poll");
}

}  // namespace

MessageStream::MessageStream(base::UniqueFd socket, std::size_t largest)
    : socket_(std::move(socket)), largest_(largest) {}

bool MessageStream::send(Kind kind, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  char header[kHeader];
  std::memcpy(header, &size, sizeof size);
  header[4] = static_cast<char>(kind);
  out_.append(header, sizeof header).append(payload);
  return flush();
}

bool MessageStream::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool MessageStream::fill() {
  char buffer[16384];
  while (true) {
    const ssize_t got = recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0) closed_ = true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK) closed_ = true;
    if (got <= 0) break;
    in_.append(buffer, static_cast<std::size_t>(got));
    std::uint32_t size = 0;
    if (in_.size() >= sizeof size) std::memcpy(&size, in_.data(), sizeof size);
    if (size > largest_) closed_ = true;
    if (closed_ || in_.size() > largest_ + kHeader) break;
  }
  return !closed_;
}

std::optional<Message> MessageStream::next() {
  if (in_.size() < kHeader) return std::nullopt;
  std::uint32_t size = 0;
  std::memcpy(&size, in_.data(), sizeof size);
  if (in_.size() < kHeader + size) return std::nullopt;
  Message message{static_cast<Kind>(in_[4]), in_.substr(kHeader, size)};
  in_.erase(0, kHeader + size);
  return message;
}

void MessageStream::send_all(Kind kind, std::string_view payload, const base::Deadline& deadline,
                             const std::string& what) {
  bool alive = send(kind, payload);
  while (alive && wants_to_write()) {
    wait_for(fd(), POLLOUT, deadline, what);
    alive = flush();
  }
}

Message MessageStream::receive(const base::Deadline& deadline, const std::string& what) {
  while (true) {
    if (auto message = next()) return *std::move(message);
    if (closed_) base::fail(heddleRemoteError, "{}: the connection closed", what);
    wait_for(fd(), POLLIN, deadline, what);
    fill();
  }
}

}  // namespace heddle::communicator
