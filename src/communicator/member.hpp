// A rank's connection to the root: joins, exchanges texts, then learns of failures and tells its
// own. Joining blocks the caller; afterwards the control thread owns the connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "communicator/control_messages.hpp"
#include "communicator/control_service.hpp"
#include "communicator/message_stream.hpp"
#include "communicator/unique_id.hpp"

namespace heddle::communicator {

struct JoinRequest {
  RootAddress root;
  int rank;
  int ranks;
  std::string host_name;
  base::Seconds timeout;
};

class Member : public Watched {
 public:
  // Joins and returns every rank's `text`, by rank, in `table`. Fails within the timeout.
  Member(const JoinRequest& request, const std::string& text, std::vector<std::string>& table);
  // One more round: every rank gives a text and gets all of them. Before watch only.
  std::vector<std::string> exchange(const std::string& text);
  // Tells the root why this rank does not go on. Before watch only.
  void give_up_before_watch(heddleResult_t code, const std::string& text);

  // From any thread, once the control thread watches.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  Failure failure() const;
  void started(std::uint64_t operation) { started_.store(operation, std::memory_order_relaxed); }
  // Tells the root what this rank calls; agreed() is that operation once all call the same.
  void calls(std::uint64_t operation, const std::string& lines);
  std::uint64_t agreed() const { return agreed_.load(std::memory_order_relaxed); }
  // The rank for which a send or receive has been waiting long, or -1: it may have left.
  void waits_for(int rank) { waits_for_.store(rank, std::memory_order_relaxed); }
  // Whether the operation under way has not moved for kVanishedSeconds.
  void stands_still(bool still) { stands_still_.store(still, std::memory_order_relaxed); }
  // Tells the root that operation makes no progress; the root names the culprit to all.
  void report_stuck(std::uint64_t operation, int waits_for, const std::string& text);
  // Tells the root that this rank fails, so that nobody waits for it.
  void give_up(heddleResult_t code, const std::string& text);
  // Says that this rank is done and waits until all ranks are, one fails or the time is over.
  bool leave(base::Seconds time);
  // Lets the control thread drop the connection. Returns when it has sent what was queued, at most
  // after `time`.
  void close(base::Seconds time);
  // Host and process of the root; `name` is what an error calls it once somebody knows better.
  const std::string& root_host() const { return root_host_; }
  std::uint32_t root_pid() const { return root_pid_; }
  void name_root(int rank, std::string name);

  void add_to(std::vector<pollfd>& poll_set) override;
  void serve() override;
  bool finished() const override { return finished_.load(); }

 private:
  // What the root says next while this rank joins; throws what it refuses with.
  Message answer();
  std::vector<std::string> receive_table();
  void queue(WholeMessage message);
  void handle(const Message& message);
  void fail(Failure failure);

  const std::string what_;         // "joining at 10.0.0.1:4000 as rank 1 of 4"
  const base::Deadline deadline_;  // of joining and all exchanges
  const int ranks_;
  std::string root_host_;
  std::uint32_t root_pid_ = 0;
  int root_rank_ = -1;
  std::string root_name_;
  MessageStream stream_;  // the caller's until watched, then the control thread's
  base::Clock::time_point last_beat_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WholeMessage> outbox_;
  Failure failure_;
  bool all_left_ = false;
  bool closing_ = false;
  std::atomic<bool> failed_{false};
  std::atomic<bool> finished_{false};
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> agreed_{0};
  std::atomic<int> waits_for_{-1};
  std::atomic<bool> stands_still_{false};
  std::atomic<bool> leaving_{false};  // waits for the others to leave
};

}  // namespace heddle::communicator
