// The door of a root: lets in whoever connects, has them prove that they know the secret, and drops
// those who do not. Control thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "communicator/control_messages.hpp"
#include "communicator/message_stream.hpp"
#include "communicator/secret.hpp"
#include "communicator/tcp.hpp"

namespace heddle::communicator {

class Admission {
 public:
  // Listens at once; port 0 takes a free one. `host` is this host's name, for people.
  Admission(const Secret& secret, std::uint16_t port, std::string host);

  std::uint16_t port() const { return listener_.port; }
  void add_to(std::vector<pollfd>& poll_set) const;

  // Takes the stream of a rank that has proved itself, or says with what it is refused and leaves
  // the stream alone. Rank and ranks of `join` are in range.
  using Receive = std::function<std::optional<Failure>(MessageStream& stream, Join join)>;
  // Does all there is to do without blocking. So many unproved connections as there are `ranks`
  // are never too many.
  void serve(int ranks, const Receive& receive);

 private:
  // Refused: told why, ignored, dropped like the others. Gone: so is what was handed on.
  enum class Stage { greeting, challenged, refused, gone };
  struct Stranger {
    explicit Stranger(base::UniqueFd socket);
    MessageStream stream;
    Stage stage = Stage::greeting;
    base::Clock::time_point came;
    base::Clock::time_point heard;  // last message
    std::string nonces;             // the rank's, then the root's
  };

  // Whether there were descriptors for all who wait.
  bool let_in();
  void hear(Stranger& stranger, const Receive& receive);
  void handle_hello(Stranger& stranger, const Message& message);
  void handle_join(Stranger& stranger, const Message& message, const Receive& receive);
  void drop_idle(int ranks, bool for_room);

  const Secret secret_;
  const Listener listener_;
  const std::string host_;
  std::list<Stranger> strangers_;                         // the oldest first
  std::optional<base::Clock::time_point> no_room_since_;  // out of descriptors
};

}  // namespace heddle::communicator
