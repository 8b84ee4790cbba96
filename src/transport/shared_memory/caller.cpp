#include <unistd.h>

#include "base/error.hpp"
#include "transport/shared_memory/pipe_ends.hpp"
#include "transport/shared_memory/rendezvous.hpp"

namespace heddle::transport {

Caller::Caller(const std::string& peer, const PipeKey& key, const PipeOptions& options,
               const PipeSecret& secret)
    : peer_(parse_address(peer)), key_(key), options_(options), secret_(secret) {
  check_options(options);
}

bool Caller::step() {
  if (state_ == State::connect && connect()) state_ = State::challenge;
  if (state_ == State::challenge && receive_challenge()) state_ = State::hello;
  if (state_ == State::hello && send_hello()) state_ = State::welcome;
  if (state_ == State::welcome && receive_answer(Step::welcome)) state_ = State::ring;
  if (state_ == State::ring && send_ring()) state_ = State::ready;
  if (state_ == State::ready && receive_answer(Step::ready)) {
    socket_.reset();
    state_ = State::done;
  }
  return state_ == State::done;
}

bool Caller::connect() {
  socket_ = open_stream(peer_.socket);
  if (!socket_) return false;
  // Of a listening socket the credentials are those of the process that called listen().
  const PeerProcess process = peer_process(socket_.get());
  if (process.uid != geteuid())
    base::fail(heddleRemoteError,
               "the {}: the socket of process {} belongs to user {}, this process to user {}",
               pipe_name(key_), peer_.pid, process.uid, geteuid());
  return true;
}

bool Caller::receive_challenge() {
  if (!check(receive_message(socket_.get(), &challenge_, sizeof challenge_, have_))) return false;
  have_ = 0;
  if (challenge_.magic != kHandshakeMagic || challenge_.version != kHandshakeVersion)
    base::fail(heddleRemoteError,
               "the {}: process {} speaks version {} of the handshake, this process {}",
               pipe_name(key_), peer_.pid, challenge_.version, kHandshakeVersion);
  hello_ = new_hello(key_, options_, challenge_, secret_);
  return true;
}

bool Caller::send_hello() { return check(send_message(socket_.get(), &hello_, sizeof hello_)); }

bool Caller::receive_answer(Step step) {
  if (!check(receive_message(socket_.get(), &answer_, sizeof answer_, have_))) return false;
  have_ = 0;
  if (!proves(answer_, step, challenge_, hello_, secret_))
    base::fail(heddleRemoteError, "the {}: process {} does not know the communicator's secret",
               pipe_name(key_), peer_.pid);
  answer_.reason[sizeof answer_.reason - 1] = '\0';
  if (answer_.accepted == 0)
    base::fail(heddleRemoteError, "the {}: rank {} (process {}) refused: {}", pipe_name(key_),
               key_.to, peer_.pid, answer_.reason);
  return true;
}

// The memory is made only when the peer has shown that it belongs to the communicator.
bool Caller::send_ring() {
  if (!ring_.file) ring_ = create_ring(options_);
  const char mark = 'r';
  if (!check(send_message(socket_.get(), &mark, sizeof mark, ring_.file.get()))) return false;
  ring_.file.reset();
  return true;
}

bool Caller::check(Io io) const {
  if (io == Io::closed) fail_closed();
  return io == Io::done;
}

void Caller::fail_closed() const {
  base::fail(heddleRemoteError,
             "the {}: rank {} (process {}) ended the handshake: it has left, does not know this "
             "communicator or holds another secret",
             pipe_name(key_), key_.to, peer_.pid);
}

}  // namespace heddle::transport
