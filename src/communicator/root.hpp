// The root of one communicator: where ranks join, exchange what they know of each other, and learn
// who failed. Lives in the process that made the unique id, served by its control thread.
// Ranks join and exchange texts as control_messages.hpp says; then the root listens: a connection
// that closes without leave, or a give_up, becomes a failure that every rank hears of.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "communicator/admission.hpp"
#include "communicator/agreement.hpp"
#include "communicator/control_messages.hpp"
#include "communicator/control_service.hpp"
#include "communicator/message_stream.hpp"
#include "communicator/secret.hpp"
#include "communicator/verdict.hpp"

namespace heddle::communicator {

class Root : public Watched {
 public:
  // Listens at once; port 0 takes a free one. `host` is this host's name, for people.
  Root(const Secret& secret, std::uint16_t port, std::string host);

  std::uint16_t port() const { return admission_.port(); }
  // Nobody will come. Lets the control thread drop this root unless somebody has joined. Any
  // thread.
  void abandon() { abandoned_ = true; }

  void add_to(std::vector<pollfd>& poll_set) override;
  void serve() override;
  bool finished() const override { return finished_; }

 private:
  // A rank that has joined.
  struct Connection {
    MessageStream stream;
    int rank;
    std::string name;                 // "rank 2 on host h (pid 7)"
    base::Clock::time_point heard;    // last message
    std::optional<std::string> text;  // of the exchange under way
    std::uint64_t started = 0;        // operations, by its heartbeats
    bool stands_still = false;        // its operation has not moved for kVanishedSeconds
    bool left = false;
    bool gone = false;
  };

  // A rank that has said leave. Kept when its connection has gone: others may yet call it.
  struct Departed {
    int rank;
    std::string name;
    std::uint64_t started;
    base::Clock::time_point since;
  };

  std::optional<Failure> receive(MessageStream& stream, Join join);
  void serve(Connection& connection);
  void handle(Connection& connection, const Message& message);
  void handle_heartbeat(Connection& connection, const Heartbeat& heartbeat);
  void note_call(const Connection& connection, Calls calls);
  void check_calls();
  void check_wait_for_leaver(const Connection& waiter, int rank);
  const Departed* departed(int rank) const;
  void note_stuck(const Connection& connection, Stuck report);
  void handle_leave(Connection& connection, const Leave& leave);
  void check_stuck();
  void check_vanished();
  std::vector<RankState> rank_states() const;
  std::string conflict_of(const std::string& name, int rank, int ranks) const;
  void complete_exchange();
  void send_members(const WholeMessage& message);
  void check_leavers();
  void check_join_deadline();
  void lost(Connection& connection);
  // Ends the communicator for everyone.
  void fail_all(Failure failure);
  bool done() const;

  Admission admission_;
  // How long after the first join all must be there: the least that a rank wants to wait.
  base::Seconds init_timeout_{1e9};
  std::list<Connection> connections_;
  int ranks_ = 0;  // 0 until the first join
  int texts_ = 0;  // that have come for the exchange under way
  std::optional<base::Clock::time_point> exchange_since_;  // first text of the exchange under way
  struct Report {
    int rank;
    Stuck stuck;
    base::Clock::time_point since;  // the first came
  };
  std::optional<Report> stuck_;  // the best
  base::Clock::time_point vanished_checked_;
  Agreement agreement_;  // HEDDLE_CHECK: of the operation that ranks call now
  std::vector<Departed> departed_;
  std::atomic<bool> abandoned_{false};
  bool used_ = false;    // somebody has joined
  bool joined_ = false;  // all ranks were there
  // What ended the communicator, and when.
  struct Failed {
    Failure failure;
    base::Clock::time_point since;
  };
  std::optional<Failed> failed_;
  bool finished_ = false;
};

}  // namespace heddle::communicator
