// The root of one communicator: where ranks join, exchange what they know of each other, and learn
// who failed. Lives in the process that made the unique id, served by its control thread.
//
// Join:   rank -> hello {version, nonce}         root -> challenge {nonce, proof, host, pid}
//         rank -> join {proof, rank, ranks, host, pid, timeout, text}
// Then, as often as the ranks like, each sends a text and gets the table of all texts. Afterwards
// the root listens: a connection that closes without leave, or a give_up, becomes a failure that
// every rank hears of.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "communicator/agreement.hpp"
#include "communicator/control_service.hpp"
#include "communicator/message_stream.hpp"
#include "communicator/secret.hpp"
#include "communicator/tcp.hpp"
#include "heddle/heddle.h"

namespace heddle::communicator {

inline constexpr std::uint32_t kProtocolVersion = 3;
// A member's text and a table of them: 64 KiB a rank is far more than a rank has to say.
inline constexpr std::size_t kLargestText = 1 << 16;
// A line of what a rank calls (lines_to_agree).
inline constexpr std::size_t kLargestLine = 64;
inline constexpr int kMostRanks = 1 << 20;
// A host is gone when no packet comes from it for so long (silent_seconds) while no operation
// moves: either alone may be a rail that was pulled, or a rank that computes.
inline constexpr double kVanishedSeconds = 30;
inline constexpr std::string_view kVanished =
    "has vanished: nothing comes from its host any more (no power there, or no network to it), and "
    "no operation moves";

class Root : public Watched {
 public:
  // Listens at once; port 0 takes a free one. `host` is this host's name, for people.
  Root(const Secret& secret, std::uint16_t port, std::string host);

  std::uint16_t port() const { return listener_.port; }

  void add_to(std::vector<pollfd>& poll_set) override;
  void serve() override;
  bool finished() const override { return finished_; }

 private:
  // Refused: told why, ignored, dropped like a stranger.
  enum class Stage { greeting, challenged, refused, member, gone };
  struct Connection {
    explicit Connection(base::UniqueFd socket);
    MessageStream stream;
    Stage stage = Stage::greeting;
    base::Clock::time_point heard;  // last message
    std::string nonces;             // the rank's, then the root's
    int rank = -1;
    std::string name;                 // "rank 2 on host h (pid 7)"
    std::optional<std::string> text;  // of the exchange under way
    std::uint64_t started = 0;        // operations, by its heartbeats
    bool stands_still = false;        // its operation has not moved for kVanishedSeconds
    bool left = false;
  };

  // A rank that has said leave. Kept when its connection has gone: others may yet call it.
  struct Departed {
    int rank;
    std::string name;
    std::uint64_t started;
    base::Clock::time_point since;
  };

  // What a rank says of an operation that makes no progress.
  struct Stuck {
    int rank;
    std::uint64_t operation;  // 0: sends and receives, which are not everybody's
    int waits_for;
    std::string what;
    base::Clock::time_point since;
  };

  void admit_strangers();
  void make_room();
  void serve(Connection& connection);
  void handle(Connection& connection, const Message& message);
  void handle_hello(Connection& connection, const Message& message);
  void handle_join(Connection& connection, const Message& message);
  void note_call(const Connection& connection, const Message& message);
  void check_calls();
  void check_wait_for_leaver(const Connection& waiter, int rank);
  const Departed* departed(int rank) const;
  void note_stuck(const Connection& connection, const Message& message);
  void check_stuck();
  void check_vanished();
  void complete_exchange();
  void check_leavers();
  void check_join_deadline();
  void lost(Connection& connection);
  // Ends the communicator for everyone: the rank at fault, and why.
  void fail_all(int rank, heddleResult_t code, const std::string& text);
  void refuse(Connection& connection, heddleResult_t code, const std::string& text);
  bool done() const;
  void drop_stranger(Connection& connection, const char* why);
  int members() const;

  Secret secret_;
  Listener listener_;
  const std::string host_;
  // How long after the first join all must be there: the least that a rank wants to wait.
  base::Seconds init_timeout_{1e9};
  std::list<Connection> connections_;
  int ranks_ = 0;                                          // 0 until the first join
  std::optional<base::Clock::time_point> exchange_since_;  // first text of the exchange under way
  std::optional<base::Clock::time_point> no_room_since_;   // out of descriptors
  std::optional<Stuck> stuck_;
  Agreement agreement_;  // HEDDLE_CHECK: of the operation that ranks call now
  std::vector<Departed> departed_;
  bool used_ = false;    // somebody has joined
  bool joined_ = false;  // all ranks were there
  // What ended the communicator, and when.
  struct Failed {
    heddleResult_t code;
    std::string text;
    base::Clock::time_point since;
  };
  std::optional<Failed> failed_;
  bool finished_ = false;
};

}  // namespace heddle::communicator
