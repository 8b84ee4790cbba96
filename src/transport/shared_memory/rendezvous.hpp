// The two sides of one handshake, as state machines that never block: each call of step() does what
// can be done now.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/handshake.hpp"
#include "transport/shared_memory/ring_file.hpp"
#include "transport/shared_memory/unix_socket.hpp"

namespace heddle::transport {

// The sending end: makes the ring and hands it over.
class Caller {
 public:
  Caller(const std::string& peer, const PipeKey& key, const PipeOptions& options,
         const PipeSecret& secret);
  // True when the receiver has accepted the ring. Throws when the peer cannot be reached, refuses
  // or cannot prove that it knows the secret.
  bool step();
  // The ring, once step() has returned true.
  RingMemory take_memory() { return std::move(ring_.memory); }
  const PipeOptions& options() const { return options_; }

 private:
  enum class State { connect, challenge, hello, welcome, ring, ready, done };
  bool connect();
  bool receive_challenge();
  bool send_hello();
  bool receive_answer(Step step);
  bool send_ring();
  bool check(Io io) const;
  [[noreturn]] void fail_closed() const;

  Address peer_;
  PipeKey key_;
  PipeOptions options_;
  PipeSecret secret_;
  State state_ = State::connect;
  base::UniqueFd socket_;
  Challenge challenge_ = {};
  Hello hello_ = {};
  Answer answer_ = {};
  std::size_t have_ = 0;  // bytes of the message that is being received
  RingFile ring_;
};

// Null when the communicator is not known (yet).
using SecretFinder = std::function<const PipeSecret*(const CommunicatorId&)>;

// The receiving end: a connection that the listener took. It is a stranger until it has proved
// otherwise, and is dropped when it has not by its deadline.
class Visitor {
 public:
  enum class State { challenge, hello, secret, welcome, ring, ready, arrived, refused, dropped };

  Visitor(base::UniqueFd socket, const PeerProcess& process, base::Seconds deadline);

  // Never throws for what the peer did. Ends in: arrived (memory() is the ring), refused (an
  // authentic peer sent a bad ring: reason() says what was wrong) or dropped (not worth keeping).
  State step(const SecretFinder& find);
  State state() const { return state_; }
  bool authentic() const { return state_ > State::secret && state_ < State::dropped; }
  bool ended() const { return state_ >= State::arrived; }
  // Ends a connection that has not ended, and says why in the log.
  void drop(const std::string& why);

  int socket() const { return socket_.get(); }
  const std::string& reason() const { return reason_; }
  // Meaningful once authentic.
  PipeKey key() const { return key_of(hello_); }
  PipeOptions options() const { return options_of(hello_); }
  RingMemory take_memory() { return std::move(memory_); }

 private:
  void advance(const SecretFinder& find);
  bool send_challenge();
  bool receive_hello();
  bool authenticate(const SecretFinder& find);
  bool send_welcome();
  bool receive_ring();
  bool send_ready();
  bool check(Io io);

  base::UniqueFd socket_;
  PeerProcess process_;
  base::Deadline deadline_;
  State state_ = State::challenge;
  Challenge challenge_;
  Hello hello_ = {};
  PipeSecret secret_ = {};
  std::size_t have_ = 0;
  base::UniqueFd ring_;
  RingMemory memory_;
  std::string reason_;
};

}  // namespace heddle::transport
