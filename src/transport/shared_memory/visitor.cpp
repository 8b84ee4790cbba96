#include "base/error.hpp"
#include "base/log.hpp"
#include "transport/shared_memory/pipe_ends.hpp"
#include "transport/shared_memory/rendezvous.hpp"

namespace heddle::transport {

Visitor::Visitor(base::UniqueFd socket, const PeerProcess& process, base::Seconds deadline)
    : socket_(std::move(socket)),
      process_(process),
      deadline_(deadline),
      challenge_(new_challenge()) {}

Visitor::State Visitor::step(const SecretFinder& find) {
  try {
    advance(find);
  } catch (const base::Error& error) {
    drop(error.what());
  }
  // What had arrived was looked at first: a process that did not call for long drops nobody for it.
  if (!ended() && !authentic() && deadline_.passed())
    drop(state_ == State::secret ? "it names a communicator that is not known here"
                                 : "it said no complete hello in time");
  return state_;
}

void Visitor::advance(const SecretFinder& find) {
  if (state_ == State::challenge && send_challenge()) state_ = State::hello;
  if (state_ == State::hello && receive_hello()) state_ = State::secret;
  if (state_ == State::secret && authenticate(find)) state_ = State::welcome;
  if (state_ == State::welcome && send_welcome()) state_ = State::ring;
  if (state_ == State::ring && receive_ring()) state_ = State::ready;
  if (state_ == State::ready && send_ready()) {
    socket_.reset();
    state_ = memory_ ? State::arrived : State::refused;
  }
}

void Visitor::drop(const std::string& why) {
  if (ended()) return;
  reason_ = why;
  base::log_info("shm: dropped a connection from process {}: {}", process_.pid, why);
  socket_.reset();
  state_ = State::dropped;
}

bool Visitor::send_challenge() {
  return check(send_message(socket_.get(), &challenge_, sizeof challenge_));
}

bool Visitor::receive_hello() {
  if (!check(receive_message(socket_.get(), &hello_, sizeof hello_, have_))) return false;
  have_ = 0;
  if (hello_.magic == kHandshakeMagic && hello_.version == kHandshakeVersion) return true;
  drop(hello_.magic != kHandshakeMagic
           ? std::string("it does not speak this protocol")
           : fmt::format("it speaks version {} of the handshake, this process {}", hello_.version,
                         kHandshakeVersion));
  return false;
}

bool Visitor::authenticate(const SecretFinder& find) {
  const PipeSecret* const secret = find(hello_.communicator);
  if (secret == nullptr) return false;
  if (!proves(hello_, challenge_, *secret)) {
    drop("it does not know the communicator's secret");
    return false;
  }
  secret_ = *secret;
  return true;
}

bool Visitor::send_welcome() {
  const Answer answer = new_answer(Step::welcome, "", challenge_, hello_, secret_);
  return check(send_message(socket_.get(), &answer, sizeof answer));
}

bool Visitor::receive_ring() {
  char mark = 0;
  try {
    if (!check(receive_message(socket_.get(), &mark, sizeof mark, have_, &ring_))) return false;
    if (!ring_) base::fail(heddleRemoteError, "it sent no memory");
    memory_ = open_ring(ring_.get(), options());
  } catch (const base::Error& error) {
    reason_ = error.what();
    base::log_warn("shm: refused the {} of process {}: {}", pipe_name(key()), process_.pid,
                   error.what());
  }
  ring_.reset();
  return true;
}

bool Visitor::send_ready() {
  const Answer answer = new_answer(Step::ready, reason_, challenge_, hello_, secret_);
  return check(send_message(socket_.get(), &answer, sizeof answer));
}

bool Visitor::check(Io io) {
  if (io == Io::closed) drop("it closed the connection before the pipe was made");
  return io == Io::done;
}

}  // namespace heddle::transport
