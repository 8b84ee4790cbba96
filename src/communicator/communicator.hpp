// One rank's membership in a group: takes calls, runs them in order, ends them all when something
// breaks.
//
// Threads: whoever holds `driving_` moves operations on. A blocking call and a wait drive from
// their own thread; works that nobody waits for are driven by the progress thread. Everything
// public may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "communicator/backoff.hpp"
#include "communicator/metrics.hpp"
#include "communicator/operation.hpp"
#include "communicator/pipes.hpp"
#include "communicator/planner.hpp"
#include "communicator/registry.hpp"
#include "communicator/running.hpp"
#include "communicator/world.hpp"

namespace heddle::communicator {

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(const RootAddress& root, int rank, int ranks, base::Settings settings);
  ~Communicator();

  int rank() const { return world_.rank(); }
  int ranks() const { return world_.ranks(); }
  // What carries the data, for people.
  const std::string& network() const { return network_; }

  PreScaledSums& sums() { return sums_; }

  // What carries data between hosts; null when nothing has to.
  transport::Transport* fabric() const { return world_.fabric().get(); }

  // Runs a call to its end. Throws base::Error.
  void run(Call call);
  // Queues a call; the progress thread sees to it.
  std::shared_ptr<Operation> start(Call call);
  // Drives until the operation has finished or the time is over; negative: no limit but
  // HEDDLE_TIMEOUT. Whether it has finished.
  bool wait(const Operation& operation, base::Seconds time);

  // Waits for all operations; no new ones are taken afterwards.
  void finalize();
  // After finalize: waits until every rank is here, so that nobody's last data is cut off.
  void leave();
  // Ends all operations with heddleAborted and tells the other ranks. Returns when no thread is
  // driving any more.
  void abort();

  // What ended this communicator: heddleSuccess while it works.
  heddleResult_t state() const { return state_.load(std::memory_order_acquire); }
  // The same, and what the other ranks have told since.
  heddleResult_t state_now() const;
  std::string failure_text() const;
  // The sentence to state_now(); empty while the communicator works.
  std::string failure_text_now() const;

  // For the progress thread: moves operations on if nobody else does. Never blocks.
  enum class Turn { idle, blocked, moved };
  Turn take_turn();
  bool has_work() const { return started_.load() != 0; }

 private:
  void check_usable() const;
  std::uint64_t next_number(const Call& call);
  void drive_until(const Operation& operation, const base::Deadline* deadline);
  Turn step();
  bool pick_next();
  Turn advance();
  void begin(Operation& operation);
  bool agreed() const;
  int waits_for_rank() const;
  void retire(heddleResult_t result, const std::string& text);
  void check_alive() const;
  void note_blocked();
  void note_moved();
  void begin_failing(const base::Error& error);
  Turn settle_failure();
  bool verdict_is_in();
  void finish_all_queued();
  std::string waiting_text(const Operation& operation) const;
  void fail_everything(const base::Error& error);
  bool at_rest();
  void await_rest(const base::Deadline& deadline);
  void warn_of_unrest() const;

  base::Settings settings_;
  PlannerFiles files_;
  Metrics* const metrics_;  // null: HEDDLE_METRICS_FILE is not set
  World world_;
  std::string network_;
  Pipes pipes_;
  Planner planner_;
  Running running_;
  PreScaledSums sums_;
  const Backoff::Duration spin_;

  std::mutex driving_;  // guards everything down to failing_
  Operation* current_ = nullptr;
  std::shared_ptr<Operation> current_owner_;  // null when the caller's stack owns current_
  std::optional<base::Clock::time_point> blocked_since_;
  // What current_ failed with; the root may name the culprit until the deadline. Then adapters get
  // a moment to let go of the program's memory.
  struct Failing {
    base::Error error;
    base::Deadline until;
    std::optional<base::Deadline> rest = {};
  };
  std::optional<Failing> failing_;

  mutable std::mutex queue_mutex_;
  std::deque<std::shared_ptr<Operation>> queue_;
  std::atomic<std::size_t> queued_{0};   // the size of queue_
  std::atomic<std::size_t> started_{0};  // works not finished: queued or under way
  std::string failure_text_;
  std::atomic<std::uint64_t> last_number_{0};     // of what all ranks call
  std::atomic<std::uint64_t> last_transfers_{0};  // of groups of sends and receives
  std::atomic<bool> finalized_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<heddleResult_t> state_{heddleSuccess};
};

}  // namespace heddle::communicator
