// Whole messages over a non-blocking TCP socket: u32 length, u8 kind, payload.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "communicator/forking.hpp"

namespace heddle::communicator {

// Kinds of control messages; the comment says who sends them.
enum class Kind : std::uint8_t {
  hello = 1,  // rank: protocol version, nonce
  challenge,  // root: nonce, proof, its host and process
  join,       // rank: proof, rank, ranks, description of itself
  table,      // root: every rank's text of one exchange, by rank
  exchange,   // rank: its text of the next exchange
  heartbeat,  // rank: operations started, whether the one under way stands still, rank that
              // a transfer waits for; root: nothing
  stuck,      // rank: operation, rank it waits for, text: it makes no progress
  give_up,    // rank: result, text: it fails or aborts
  failure,    // root: rank at fault, result, text
  leave,      // rank: it destroys the communicator
  all_left,   // root: every rank has left
  calls,      // rank: operation, what it calls: HEDDLE_CHECK
  agreed      // root: operation that every rank calls alike
};

struct Message {
  Kind kind;
  std::string payload;
};

// A message as the bytes that cross: made once, it may be queued for many.
using WholeMessage = std::shared_ptr<const std::string>;  // shared by the streams that send it
WholeMessage whole_message(Kind kind, std::string_view payload);

class MessageStream {
 public:
  // A stranger's first message must be small; members may send `largest` bytes.
  explicit MessageStream(base::UniqueFd socket, std::size_t largest = 4096);

  int fd() const { return socket_.get(); }
  void allow(std::size_t largest) { largest_ = largest; }

  // Queues a message and sends what the socket takes. False when the peer is gone.
  bool send(Kind kind, std::string_view payload);
  bool send(WholeMessage message);
  // Sends more of what is queued. False when the peer is gone.
  bool flush();
  bool wants_to_write() const { return !out_.empty(); }

  // Reads what has arrived. False when the peer is gone or sent an oversized message.
  bool fill();
  // The next whole message, if there is one.
  std::optional<Message> next();

  // Blocking forms for the join: fail with heddleTimeout or heddleRemoteError, naming `what`. A
  // peer that has closed may have said why: sending does not fail then, receiving does or gives it.
  void send_all(Kind kind, std::string_view payload, const base::Deadline& deadline,
                const std::string& what);
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
