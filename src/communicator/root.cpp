#include "communicator/root.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace heddle::communicator {
namespace {

// How long to listen for a better report of what is stuck; ranks wait a second for the answer.
constexpr double kStuckSeconds = 0.3;
// How long a rank has been gone when others that wait for it are told: its last data may be on its
// way.
constexpr double kLeftSeconds = 0.7;
// Seconds between looks at all ranks for a host that has vanished.
constexpr double kVanishedCheckSeconds = 0.5;
// How long ranks that come after the join has failed are told why.
constexpr double kFailedJoinSeconds = 2;
// Ranks that call different operations are told so when all have called, or after this time.
constexpr double kLateCallSeconds = 1;

std::string list(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 16;
  return base::listed(ranks, kMost);
}

}  // namespace

Root::Root(const Secret& secret, std::uint16_t port, std::string host)
    : admission_(secret, port, std::move(host)) {}

void Root::add_to(std::vector<pollfd>& poll_set) {
  admission_.add_to(poll_set);
  for (const auto& connection : connections_) poll_set.push_back(connection.stream.to_poll());
}

void Root::serve() {
  admission_.serve(ranks_, [this](MessageStream& stream, Join join) {
    return receive(stream, std::move(join));
  });
  for (auto& connection : connections_) serve(connection);
  check_join_deadline();
  check_stuck();
  check_vanished();
  check_calls();
  connections_.remove_if([](const auto& c) { return c.gone; });
  finished_ = done();
}

// All have gone; but where the join failed, who is yet to come must hear why.
bool Root::done() const {
  if (!used_) return abandoned_;
  if (!connections_.empty()) return false;
  return joined_ || !failed_ || base::seconds_since(failed_->since) > kFailedJoinSeconds;
}

void Root::serve(Connection& connection) {
  bool alive = connection.stream.fill() && connection.stream.flush();
  try {
    while (const auto message = connection.stream.next()) handle(connection, *message);
  } catch (const base::Error& error) {
    base::log_info("{}: {}", connection.name, error.what());
    alive = false;
  }
  if (!alive) lost(connection);
}

void Root::handle(Connection& connection, const Message& message) {
  connection.heard = base::Clock::now();
  switch (message.kind) {
    case Kind::exchange:
      connection.text = decode<Exchange>(message.payload).text;
      if (!exchange_since_) exchange_since_ = base::Clock::now();
      return complete_exchange();
    case Kind::heartbeat: return handle_heartbeat(connection, decode<Heartbeat>(message.payload));
    case Kind::calls: return note_call(connection, decode<Calls>(message.payload));
    case Kind::stuck: return note_stuck(connection, decode<Stuck>(message.payload));
    case Kind::give_up: {
      const auto reason = decode<GiveUp>(message.payload);
      return fail_all({connection.rank, reason.code, connection.name + ": " + reason.text});
    }
    case Kind::leave: return handle_leave(connection, decode<Leave>(message.payload));
    default: base::fail(heddleRemoteError, "unexpected control message");
  }
}

void Root::handle_heartbeat(Connection& connection, const Heartbeat& heartbeat) {
  connection.started = heartbeat.started;
  connection.stands_still = heartbeat.stands_still;
  connection.stream.send(Alive{});
  check_leavers();
  check_wait_for_leaver(connection, heartbeat.waits_for);
}

void Root::handle_leave(Connection& connection, const Leave& leave) {
  connection.started = leave.started;
  connection.left = true;
  departed_.push_back({connection.rank, connection.name, connection.started, base::Clock::now()});
  check_leavers();
  if (std::all_of(connections_.begin(), connections_.end(),
                  [](const auto& c) { return c.gone || c.left; }))
    send_members(whole_message(AllLeft{}));
}

std::optional<Failure> Root::receive(MessageStream& stream, Join join) {
  const auto name = fmt::format("rank {} on host {} (pid {})", join.rank, join.host, join.pid);
  if (failed_)
    return Failure{-1, failed_->failure.code,
                   fmt::format("{} comes too late, this communicator has failed: {}", name,
                               failed_->failure.text)};
  if (joined_)
    return Failure{-1, heddleInvalidUsage,
                   fmt::format("{} comes too late: this communicator has all its ranks", name)};
  if (ranks_ == 0) ranks_ = join.ranks;
  if (std::string conflict = conflict_of(name, join.rank, join.ranks); !conflict.empty()) {
    Failure failure{join.rank, heddleInvalidArgument, std::move(conflict)};
    fail_all(failure);
    return failure;
  }
  // A call of HEDDLE_CHECK has a line for every rank.
  stream.allow(kLargestText + kLargestLine * static_cast<std::size_t>(ranks_));
  connections_.push_back({.stream = std::move(stream),
                          .rank = join.rank,
                          .name = name,
                          .heard = base::Clock::now(),
                          .text = std::move(join.text)});
  used_ = true;
  if (!exchange_since_) exchange_since_ = base::Clock::now();
  init_timeout_ = std::min(init_timeout_, base::Seconds(join.timeout_ms / 1000.0));
  complete_exchange();
  return std::nullopt;
}

// Why a rank cannot be a member beside those who are; empty when it can.
std::string Root::conflict_of(const std::string& name, int rank, int ranks) const {
  for (const auto& other : connections_) {
    if (other.gone) continue;
    if (ranks != ranks_)
      return fmt::format("{} joins with nranks {}, but {} joined with nranks {}", name, ranks,
                         other.name, ranks_);
    if (other.rank == rank)
      return fmt::format("rank {} joins twice: {} and {}", rank, other.name, name);
  }
  if (ranks != ranks_)  // and nobody is left to be named
    return fmt::format("{} joins with nranks {}, but the first rank joined with nranks {}", name,
                       ranks, ranks_);
  return {};
}

void Root::complete_exchange() {
  // Most texts come before the last: only that one is worth a walk over all ranks.
  if (failed_ || ++texts_ < ranks_) return;
  std::vector<Connection*> by_rank(static_cast<std::size_t>(ranks_), nullptr);
  for (auto& connection : connections_)
    if (!connection.gone && connection.text)
      by_rank[static_cast<std::size_t>(connection.rank)] = &connection;
  if (std::find(by_rank.begin(), by_rank.end(), nullptr) != by_rank.end()) return;
  joined_ = true;
  texts_ = 0;
  exchange_since_.reset();
  Table table;
  for (auto* connection : by_rank) {
    table.texts.push_back(*std::move(connection->text));
    connection->text.reset();
  }
  send_members(whole_message(table));
}

// One message for all: a table of many ranks would else be queued as often as there are ranks.
void Root::send_members(const WholeMessage& message) {
  for (auto& connection : connections_)
    if (!connection.gone) connection.stream.send(message);
}

void Root::check_join_deadline() {
  if (failed_ || !exchange_since_ || base::seconds_since(*exchange_since_) < init_timeout_.count())
    return;
  std::vector<bool> here(static_cast<std::size_t>(ranks_), false);
  for (const auto& c : connections_)
    if (!c.gone && c.text) here[static_cast<std::size_t>(c.rank)] = true;
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank)
    if (!here[static_cast<std::size_t>(rank)]) missing.push_back(rank);
  const auto present = static_cast<std::size_t>(ranks_) - missing.size();
  fail_all({missing.empty() ? -1 : missing.front(), heddleTimeout,
            fmt::format("{} of {} ranks joined within {:g} s; missing: {}", present, ranks_,
                        init_timeout_.count(), list(missing))});
}

void Root::check_leavers() {
  if (departed_.empty()) return;
  const Departed* leaver = nullptr;   // the one with the fewest operations
  const Connection* ahead = nullptr;  // the rank with the most
  for (const Departed& gone : departed_)
    if (leaver == nullptr || gone.started < leaver->started) leaver = &gone;
  for (const auto& connection : connections_)
    if (!connection.gone && (ahead == nullptr || connection.started > ahead->started))
      ahead = &connection;
  // A rank that has left will not take part in what others have called since.
  if (leaver != nullptr && ahead != nullptr && ahead->started > leaver->started)
    fail_all({leaver->rank, heddleRemoteError,
              fmt::format("{} destroyed its communicator after {} operations, but {} has called "
                          "operation #{}",
                          leaver->name, leaver->started, ahead->name, ahead->started)});
}

const Root::Departed* Root::departed(int rank) const {
  for (const Departed& gone : departed_)
    if (gone.rank == rank) return &gone;
  return nullptr;
}

// Only the root knows who has left; a rank that is blocked in a send or a receive says for whom it
// waits. What the other had sent before it left has had the time to arrive.
void Root::check_wait_for_leaver(const Connection& waiter, int rank) {
  const Departed* const gone = departed(rank);
  if (gone == nullptr || base::seconds_since(gone->since) < kLeftSeconds) return;
  fail_all({rank, heddleRemoteError,
            fmt::format("{} has left the communicator (heddleCommDestroy), but {} waits for it in "
                        "a send or a receive",
                        gone->name, waiter.name)});
}

void Root::note_call(const Connection& connection, Calls calls) {
  agreement_.add(connection.rank, connection.name, calls.operation, std::move(calls.lines));
}

void Root::check_calls() {
  if (failed_ || agreement_.ranks() == 0) return;
  const bool all = agreement_.ranks() == static_cast<std::size_t>(ranks_);
  if (agreement_.differ() && (all || agreement_.seconds() > kLateCallSeconds)) {
    const auto difference = agreement_.difference();
    return fail_all({difference.rank, heddleInvalidUsage, difference.text});
  }
  if (!all) return;
  send_members(whole_message(Agreed{agreement_.number()}));
  agreement_.clear();
}

// Ranks that wait for each other's victims say so at about the same time. Who is stuck in a send or
// a receive knows best: the others may only wait for that rank.
void Root::note_stuck(const Connection& connection, Stuck report) {
  if (stuck_ && (stuck_->stuck.operation == 0 || report.operation != 0)) return;
  const auto since = stuck_ ? stuck_->since : base::Clock::now();
  stuck_ = Report{connection.rank, std::move(report), since};
}

void Root::check_stuck() {
  if (!stuck_ || failed_ || base::seconds_since(stuck_->since) < kStuckSeconds) return;
  fail_all(blame_for(stuck_->stuck, stuck_->rank, rank_states()));
}

void Root::check_vanished() {
  if (failed_ || !joined_ || base::seconds_since(vanished_checked_) < kVanishedCheckSeconds) return;
  vanished_checked_ = base::Clock::now();
  const auto silent = [](const Connection& c) {
    return !c.gone && !c.left && base::seconds_since(c.heard) > kVanishedSeconds;
  };
  if (std::none_of(connections_.begin(), connections_.end(), silent)) return;
  if (const auto failure = find_vanished(rank_states())) fail_all(*failure);
}

// Of all members, and of those who have left and closed.
std::vector<RankState> Root::rank_states() const {
  std::vector<RankState> states;
  std::vector<bool> here(static_cast<std::size_t>(ranks_), false);
  for (const auto& c : connections_) {
    if (c.gone) continue;
    here[static_cast<std::size_t>(c.rank)] = true;
    states.push_back({c.rank, c.name, c.started, c.stands_still, c.left,
                      base::seconds_since(c.heard), silent_seconds(c.stream.fd())});
  }
  for (const Departed& gone : departed_)
    if (!here[static_cast<std::size_t>(gone.rank)])
      states.push_back(
          {.rank = gone.rank, .name = gone.name, .started = gone.started, .left = true});
  return states;
}

void Root::lost(Connection& connection) {
  connection.gone = true;
  if (!connection.left && !failed_)
    fail_all({connection.rank, heddleRemoteError,
              fmt::format("{} {}", connection.name,
                          joined_ ? "died, or its connection to the root broke"
                                  : "went away before all ranks had joined")});
}

void Root::fail_all(Failure failure) {
  if (failed_) return;
  base::log_info("communicator failed: {}", failure.text);
  send_members(whole_message(failure));
  failed_ = Failed{std::move(failure), base::Clock::now()};
}

}  // namespace heddle::communicator
