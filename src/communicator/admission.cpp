#include "communicator/admission.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace heddle::communicator {
namespace {

// A stranger must have proved itself within this time.
constexpr double kHelloSeconds = 5;
// Of more strangers than this, or than ranks, the oldest that is silent goes.
constexpr int kMostStrangers = 4096;
// A rank that joins is not silent for so long, unless its host is.
constexpr double kSilentSeconds = 1;
// So many at most are let in before those who are here are heard.
constexpr int kMostAtOnce = 4096;
// How long nobody is let in after the descriptors ran out.
constexpr double kNoRoomSeconds = 1;

void say_dropped(const char* why) {
  base::log_info("dropped a connection to the port where ranks join: {}", why);
}

}  // namespace

Admission::Stranger::Stranger(base::UniqueFd socket)
    : stream(std::move(socket)), came(base::Clock::now()), heard(came) {}

Admission::Admission(const Secret& secret, std::uint16_t port, std::string host)
    : secret_(secret), listener_(listen_tcp(port)), host_(std::move(host)) {}

void Admission::add_to(std::vector<pollfd>& poll_set) const {
  const bool room = !no_room_since_ || base::seconds_since(*no_room_since_) > kNoRoomSeconds;
  if (room) poll_set.push_back({listener_.socket.get(), POLLIN, 0});
  for (const auto& stranger : strangers_) poll_set.push_back(stranger.stream.to_poll());
}

// Whoever waits is heard before anybody is dropped: of many ranks that come at once, some have said
// all that they can.
void Admission::serve(int ranks, const Receive& receive) {
  const bool room = let_in();
  for (auto& stranger : strangers_) hear(stranger, receive);
  strangers_.remove_if([](const auto& stranger) { return stranger.stage == Stage::gone; });
  drop_idle(ranks, !room);
}

bool Admission::let_in() {
  for (int count = 0; count < kMostAtOnce; ++count) {
    base::UniqueFd socket = accept_tcp(listener_.socket);
    if (!socket) return errno != EMFILE && errno != ENFILE;
    strangers_.emplace_back(std::move(socket));
  }
  return true;
}

void Admission::hear(Stranger& stranger, const Receive& receive) {
  const bool alive = stranger.stream.fill() && stranger.stream.flush();
  try {
    while (stranger.stage != Stage::gone) {
      const auto message = stranger.stream.next();
      if (!message) break;
      stranger.heard = base::Clock::now();
      if (stranger.stage == Stage::greeting)
        handle_hello(stranger, *message);
      else if (stranger.stage == Stage::challenged)
        handle_join(stranger, *message, receive);
    }
    if (alive || stranger.stage == Stage::gone) return;
    say_dropped("it closed the connection");
  } catch (const base::Error& error) {
    say_dropped(error.what());
  }
  stranger.stage = Stage::gone;
}

void Admission::handle_hello(Stranger& stranger, const Message& message) {
  if (message.kind != Kind::hello) base::fail(heddleRemoteError, "not a hello");
  const auto hello = decode<Hello>(message.payload);
  const std::string nonce(as_text(random_secret()));
  if (hello.nonce.size() != nonce.size()) base::fail(heddleRemoteError, "a malformed hello");
  stranger.nonces = hello.nonce + nonce;
  stranger.stream.send(Challenge{.nonce = nonce,
                                 .proof = proof(secret_, "root", stranger.nonces),
                                 .host = host_,
                                 .pid = static_cast<std::uint32_t>(getpid())});
  if (hello.version != kProtocolVersion)
    base::fail(heddleRemoteError, "version {} of the protocol: allowed is {}", hello.version,
               kProtocolVersion);
  stranger.stage = Stage::challenged;
  stranger.stream.allow(kLargestText);
}

void Admission::handle_join(Stranger& stranger, const Message& message, const Receive& receive) {
  if (message.kind != Kind::join) base::fail(heddleRemoteError, "it does not answer the challenge");
  auto join = decode<Join>(message.payload);
  if (!same_proof(join.proof, proof(secret_, "rank", stranger.nonces)))
    base::fail(heddleRemoteError, "it does not know the secret");
  if (join.ranks < 1 || join.ranks > kMostRanks)
    base::fail(heddleRemoteError, "nranks is {}: allowed is 1 to {}", join.ranks, kMostRanks);
  if (join.rank < 0 || join.rank >= join.ranks)
    base::fail(heddleRemoteError, "rank is {}: allowed is 0 to {}", join.rank, join.ranks - 1);
  const auto refusal = receive(stranger.stream, std::move(join));
  stranger.stage = refusal ? Stage::refused : Stage::gone;
  if (!refusal) return;
  stranger.stream.send(*refusal);
  stranger.came = base::Clock::now();  // time to read it
}

void Admission::drop_idle(int ranks, bool for_room) {
  auto left = strangers_.size();
  const auto most = static_cast<std::size_t>(std::max(kMostStrangers, ranks));
  strangers_.remove_if([&](const Stranger& stranger) {
    const bool silent = base::seconds_since(stranger.heard) > kSilentSeconds;
    const char* why = nullptr;
    if (base::seconds_since(stranger.came) > kHelloSeconds)
      why = "no valid hello in time";
    else if (silent && left > most)
      why = "too many connections that did not prove themselves";
    else if (silent && for_room)
      why = "no file descriptor is left for ranks";
    if (why == nullptr) return false;
    say_dropped(why);
    for_room = false;
    --left;
    return true;
  });
  if (!for_room) return;
  if (!no_room_since_)
    base::log_warn(
        "ranks cannot join: no file descriptor is left in the root's process (ulimit -n)");
  no_room_since_ = base::Clock::now();
}

}  // namespace heddle::communicator
