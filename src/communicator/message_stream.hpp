// Whole messages over a non-blocking TCP socket: u32 length, u8 kind, payload.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "communicator/control_messages.hpp"
#include "communicator/forking.hpp"

namespace heddle::communicator {

// A message as the bytes that cross: made once, it may be queued for many.
using WholeMessage = std::shared_ptr<const std::string>;  // shared by the streams that send it
WholeMessage whole_message(Kind kind, std::string_view payload);
template <ControlMessage M>
WholeMessage whole_message(const M& message) {
  return whole_message(M::kKind, encode(message));
}

class MessageStream {
 public:
  // A stranger's first message must be small; members may send `largest` bytes.
  explicit MessageStream(base::UniqueFd socket, std::size_t largest = 4096);

  int fd() const { return socket_.get(); }
  void allow(std::size_t largest) { largest_ = largest; }

  // Queues a message and sends what the socket takes. False when the peer is gone.
  bool send(WholeMessage message);
  template <ControlMessage M>
  bool send(const M& message) {
    return send(whole_message(message));
  }
  // Sends more of what is queued. False when the peer is gone.
  bool flush();
  bool wants_to_write() const { return !out_.empty(); }
  // For poll(2): until there is something to read or, where something is queued, to write.
  pollfd to_poll() const {
    const short events = wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    return {fd(), events, 0};
  }

  // Reads what has arrived. False when the peer is gone or sent an oversized message.
  bool fill();
  // The next whole message, if there is one.
  std::optional<Message> next();

  // Blocking forms for the join: fail with heddleTimeout or heddleRemoteError, naming `what`. A
  // peer that has closed may have said why: sending does not fail then, receiving does or gives it.
  void send_all(WholeMessage message, const base::Deadline& deadline, const std::string& what);
  Message receive(const base::Deadline& deadline, const std::string& what);

 private:
  ControlSocket socket_;
  std::size_t largest_;
  std::string in_;
  std::deque<WholeMessage> out_;
  std::size_t sent_ = 0;  // bytes of the first of out_
  bool closed_ = false;
};

}  // namespace heddle::communicator
