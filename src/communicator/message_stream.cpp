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

WholeMessage whole_message(Kind kind, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes;
  bytes.reserve(kHeader + payload.size());
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += static_cast<char>(kind);
  bytes += payload;
  return std::make_shared<const std::string>(std::move(bytes));
}

MessageStream::MessageStream(base::UniqueFd socket, std::size_t largest)
    : socket_(std::move(socket)), largest_(largest) {}

bool MessageStream::send(WholeMessage message) {
  out_.push_back(std::move(message));
  return flush();
}

bool MessageStream::flush() {
  while (!out_.empty()) {
    const std::string_view left = std::string_view(*out_.front()).substr(sent_);
    const ssize_t sent = ::send(fd(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < out_.front()->size()) continue;
    out_.pop_front();
    sent_ = 0;
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

void MessageStream::send_all(WholeMessage message, const base::Deadline& deadline,
                             const std::string& what) {
  bool alive = send(std::move(message));
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
