#include "communicator/communicator.hpp"

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "communicator/agreement.hpp"
#include "communicator/progress_thread.hpp"
#include "communicator/verdict.hpp"

namespace heddle::communicator {
namespace {

// What a slot holds when HEDDLE_SLOT_BYTES does not say: small enough for the slots of a pipe to
// stay in a core's cache, large enough to hide the handshake. Measured (docs/performance.md): from
// 64 KiB to 1 MiB the difference is under a fifth.
constexpr std::size_t kSlotBytes = 256 * 1024;
// How long to wait for the root to say who is to blame before this rank's own view is told.
constexpr base::Seconds kVerdict{1.0};
// How long an operation that has failed waits for adapters that still read the program's memory. An
// abort must be over in 2 s, and the last owner of a transport may take one more of them.
constexpr base::Seconds kRest{0.5};
// Seconds that a send or a receive waits before the root is asked whether its peer has left.
constexpr double kLongWait = 0.7;

std::size_t slot_bytes(const base::Settings& settings) {
  return settings.slot_bytes != 0 ? settings.slot_bytes : kSlotBytes;
}

Backoff::Duration spin_of(const base::Settings& settings, const World& world) {
  const double microseconds = spin_microseconds(settings, world.infos(), world.rank());
  return std::chrono::duration_cast<Backoff::Duration>(
      std::chrono::duration<double, std::micro>(microseconds));
}

std::string describe_network(const base::Settings& settings, const World& world) {
  if (world.fabric() == nullptr)
    return world.ranks() == 1 ? "nothing (one rank)" : "shared memory (one host)";
  const std::string fabric = world.fabric()->description();
  return settings.shm ? "shared memory in a host, between hosts " + fabric : fabric;
}

// Without shared memory the ranks of a host are as far from each other as hosts are.
PlannerOptions planner_options(const base::Settings& settings, const World& world) {
  const bool shared = settings.shm;
  return {world.rank(),
          world.ranks(),
          world.local(),
          shared ? world.hosts() : world.ranks(),
          shared ? world.ranks_per_host() : 1,
          world.rails(),
          slot_bytes(settings)};
}

}  // namespace

Communicator::Communicator(const RootAddress& root, int rank, int ranks, base::Settings settings)
    : settings_(std::move(settings)),
      files_(load_planner_files(settings_)),
      metrics_(Metrics::open(settings_.metrics_file)),
      world_(root, rank, ranks, apply_tuning(settings_, files_), files_.digests),
      network_(describe_network(settings_, world_)),
      pipes_(world_.id(), rank, world_.routes(), {settings_.slots, slot_bytes(settings_)}),
      planner_(settings_, files_, planner_options(settings_, world_)),
      running_(planner_, pipes_, fabric()),
      spin_(spin_of(settings_, world_)) {
  if (metrics_ != nullptr) metrics_->include(world_.fabric());
  base::log_info("{} of {} is here; data goes over {}{}", world_.name_of(rank), ranks, network_,
                 fabric() == nullptr ? "; no provider is needed" : "");
}

Communicator::~Communicator() {
  if (state() != heddleSuccess && !aborted_) await_rest(base::Deadline(kRest));
  if (metrics_ != nullptr) metrics_->write();
}

void Communicator::check_usable() const {
  if (state() != heddleSuccess)
    base::fail(state(), "this communicator has failed before: {}", failure_text());
  if (finalized_) base::fail(heddleInvalidUsage, "this communicator is finalized");
}

// Transfers are counted apart: the other numbers must be the same on every rank.
std::uint64_t Communicator::next_number(const Call& call) {
  auto& last = call.kind == Call::Kind::transfers ? last_transfers_ : last_number_;
  return last.fetch_add(1) + 1;
}

void Communicator::run(Call call) {
  check_usable();
  const std::lock_guard lock(driving_);
  const std::uint64_t number = next_number(call);
  Operation operation(std::move(call), number);
  finish_all_queued();
  if (state() == heddleSuccess) {
    current_ = &operation;
    begin(operation);
    drive_until(operation, nullptr);
  } else {
    if (metrics_ != nullptr) metrics_->count(operation.call, state(), ranks());
    operation.finish(state(), failure_text());
  }
  if (operation.result() != heddleSuccess) throw base::Error(operation.result(), operation.error());
}

std::shared_ptr<Operation> Communicator::start(Call call) {
  check_usable();
  ProgressThread::instance().start();  // may fail: before anything is queued
  std::shared_ptr<Operation> operation;
  {
    const std::lock_guard lock(queue_mutex_);
    const std::uint64_t number = next_number(call);
    operation = std::make_shared<Operation>(std::move(call), number);
    queue_.push_back(operation);
    queued_ = queue_.size();
    ++started_;
  }
  ProgressThread::instance().see_to(shared_from_this());
  return operation;
}

bool Communicator::wait(const Operation& operation, base::Seconds time) {
  const bool forever = time.count() < 0;
  const base::Deadline deadline(forever ? base::Seconds(0) : time);
  while (!operation.finished()) {
    if (!forever && deadline.passed()) return false;
    const std::unique_lock lock(driving_, std::try_to_lock);
    if (lock.owns_lock()) {
      drive_until(operation, forever ? nullptr : &deadline);
    } else {
      // Another thread drives, perhaps this very operation: look again after a moment.
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

void Communicator::drive_until(const Operation& operation, const base::Deadline* deadline) {
  Backoff backoff(spin_, settings_.spin < 0);
  while (!operation.finished()) {
    const bool moved = step() == Turn::moved;
    if (moved) backoff.reset();
    if (!moved && !backoff.pause()) continue;
    if (deadline != nullptr && deadline->passed()) return;
    if (!moved) note_blocked();
  }
}

void Communicator::finish_all_queued() {
  Backoff backoff(spin_, settings_.spin < 0);
  while (current_ != nullptr || queued_.load() != 0) {
    if (step() == Turn::moved)
      backoff.reset();
    else if (backoff.pause())
      note_blocked();
  }
}

Communicator::Turn Communicator::take_turn() {
  const std::unique_lock lock(driving_, std::try_to_lock);
  if (!lock.owns_lock()) return Turn::blocked;
  const Turn turn = step();
  if (turn == Turn::blocked) note_blocked();
  return turn;
}

bool Communicator::pick_next() {
  const std::lock_guard lock(queue_mutex_);
  if (queue_.empty()) return false;
  current_owner_ = std::move(queue_.front());
  queue_.pop_front();
  queued_ = queue_.size();
  current_ = current_owner_.get();
  return true;
}

Communicator::Turn Communicator::step() {
  if (failing_) return settle_failure();
  if (current_ == nullptr) {
    if (queued_.load() == 0 || !pick_next()) return Turn::idle;
    if (state() != heddleSuccess) {
      retire(state(), failure_text());
      return Turn::moved;
    }
    begin(*current_);
  }
  if (current_ == nullptr) return Turn::moved;  // ended in begin
  try {
    return advance();
  } catch (const base::Error& error) {
    begin_failing(error);
  } catch (const std::exception& error) {
    begin_failing(base::Error(heddleInternalError, error.what()));
  }
  return settle_failure();
}

void Communicator::begin(Operation& operation) {
  Member* const member = world_.member();
  if (member != nullptr && operation.call.kind != Call::Kind::transfers) {
    member->started(operation.number);
    if (settings_.check) member->calls(operation.number, lines_to_agree(operation));
  }
  note_moved();
  try {
    running_.begin(operation.call);
  } catch (const base::Error& error) {
    fail_everything(error);
  } catch (const std::exception& error) {
    fail_everything(base::Error(heddleInternalError, error.what()));
  }
}

// Whether the operation may move data: with HEDDLE_CHECK, once the root has said that all ranks
// call the same.
bool Communicator::agreed() const {
  return !settings_.check || world_.member() == nullptr ||
         current_->call.kind == Call::Kind::transfers ||
         world_.member()->agreed() == current_->number;
}

// The rank that the operation under way waits for, or -1.
int Communicator::waits_for_rank() const { return agreed() ? running_.waiting_on_rank() : -1; }

Communicator::Turn Communicator::advance() {
  check_alive();
  if (!agreed()) {
    // The operation before may be over here while others still wait for its last data.
    if (fabric() != nullptr) fabric()->progress();
    return Turn::blocked;
  }
  const auto now = running_.advance();
  if (now == Running::State::done) {
    note_moved();
    retire(heddleSuccess, {});
    return Turn::moved;
  }
  if (now == Running::State::blocked) return Turn::blocked;
  note_moved();
  return Turn::moved;
}

void Communicator::retire(heddleResult_t result, const std::string& text) {
  Operation* const ended = current_;
  // The owner may let go of the operation as soon as it has finished.
  const std::shared_ptr<Operation> owner = std::move(current_owner_);
  current_ = nullptr;
  if (metrics_ != nullptr) metrics_->count(ended->call, result, ranks());
  ended->finish(result, text);
  if (owner) --started_;
}

void Communicator::note_blocked() {
  if (current_ == nullptr || failing_) return;
  if (!blocked_since_) blocked_since_ = base::Clock::now();
  const double blocked = base::seconds_since(*blocked_since_);
  Member* const member = world_.member();
  const bool transfers = current_->call.kind == Call::Kind::transfers;
  if (member != nullptr && transfers && blocked > kLongWait) member->waits_for(waits_for_rank());
  if (member != nullptr && blocked > kVanishedSeconds) member->stands_still(true);
  if (blocked < settings_.timeout) return;
  const std::string text = waiting_text(*current_);
  if (member != nullptr)
    // No rank is behind in transfers, which are not everybody's.
    member->report_stuck(transfers ? 0 : current_->number, waits_for_rank(), text);
  begin_failing(base::Error(heddleTimeout, text));
}

void Communicator::note_moved() {
  if (!blocked_since_) return;
  blocked_since_.reset();
  if (world_.member() == nullptr) return;
  world_.member()->waits_for(-1);
  world_.member()->stands_still(false);
}

void Communicator::begin_failing(const base::Error& error) {
  failing_.emplace(Failing{error, base::Deadline(kVerdict)});
}

// A broken pipe or a wait without end is only what this rank sees; the root may know which rank
// died. So it gets a moment to say.
Communicator::Turn Communicator::settle_failure() {
  if (!failing_->rest) {
    if (!verdict_is_in()) return Turn::blocked;
    pipes_.give_up();
    failing_->rest.emplace(kRest);
  }
  if (!at_rest()) {
    if (!failing_->rest->passed()) return Turn::blocked;
    warn_of_unrest();
  }
  const base::Error error = failing_->error;
  failing_.reset();
  fail_everything(error);
  return Turn::moved;
}

// If so, it is what failing_ says.
bool Communicator::verdict_is_in() {
  const Member* const member = world_.member();
  const bool aborted = aborted_.load() || failing_->error.code() == heddleAborted;
  const bool told = member != nullptr && member->failed();
  if (member != nullptr && !told && !aborted && !failing_->until.passed()) return false;
  base::Error& error = failing_->error;
  if (aborted) error = base::Error(heddleAborted, "the communicator was aborted");
  if (told && !aborted) error = base::Error(member->failure().code, member->failure().text);
  if (error.code() != heddleAborted)
    error = base::Error(error.code(), fmt::format("{} on rank {} failed: {}", current_->describe(),
                                                  rank(), error.what()));
  return true;
}

// Whether no adapter reads the program's memory; drives the fabric towards that.
bool Communicator::at_rest() {
  try {
    if (pipes_.at_rest()) return true;
    if (fabric() != nullptr) fabric()->progress();
    return pipes_.at_rest();
  } catch (const base::Error& error) {
    base::log_debug("while adapters come to rest: {}", error.what());
    return false;
  }
}

void Communicator::await_rest(const base::Deadline& deadline) {
  while (!at_rest()) {
    if (deadline.passed()) return warn_of_unrest();
    std::this_thread::yield();
  }
}

void Communicator::warn_of_unrest() const {
  base::log_warn(
      "rank {} ends an operation while its adapter still reads the send buffer, because a rank "
      "takes nothing of what has been handed over; the buffer must stay mapped and unchanged until "
      "heddleCommAbort or heddleCommDestroy returns without this warning, or the process ends",
      rank());
}

void Communicator::check_alive() const {
  if (aborted_.load(std::memory_order_relaxed))
    base::fail(heddleAborted, "the communicator was aborted");
  if (world_.member() != nullptr && world_.member()->failed()) {
    const Failure failure = world_.member()->failure();
    throw base::Error(failure.code, failure.text);
  }
}

std::string Communicator::waiting_text(const Operation& operation) const {
  if (!agreed())
    return fmt::format(
        "{} on rank {} made no progress for {:.1f} s and waits for all ranks to "
        "call it (HEDDLE_CHECK)",
        operation.describe(), rank(), base::seconds_since(*blocked_since_));
  const int peer = running_.waiting_on_rank();
  return fmt::format("{} by {} on rank {} made no progress for {:.1f} s and waits for {}{}",
                     operation.describe(), running_.by(), rank(),
                     base::seconds_since(*blocked_since_), running_.waiting_for(),
                     peer >= 0 ? " (" + world_.name_of(peer) + ")" : "");
}

void Communicator::fail_everything(const base::Error& error) {
  pipes_.give_up();
  {
    const std::lock_guard lock(queue_mutex_);
    if (state_ == heddleSuccess) {
      failure_text_ = error.what();
      state_.store(error.code(), std::memory_order_release);
    }
  }
  if (error.code() != heddleAborted) base::log_warn("{}", error.what());
  Member* const member = world_.member();
  // Ours is an abort; to the others it is a rank that went away.
  const auto told = error.code() == heddleAborted ? heddleRemoteError : error.code();
  if (member != nullptr && !member->failed()) member->give_up(told, error.what());
  if (current_ != nullptr) retire(error.code(), error.what());
  while (pick_next()) retire(error.code(), error.what());
}

heddleResult_t Communicator::state_now() const {
  const Member* const member = world_.member();
  if (state() != heddleSuccess || member == nullptr || !member->failed()) return state();
  return member->failure().code;
}

std::string Communicator::failure_text() const {
  const std::lock_guard lock(queue_mutex_);
  return failure_text_;
}

std::string Communicator::failure_text_now() const {
  const Member* const member = world_.member();
  if (state() != heddleSuccess || member == nullptr || !member->failed()) return failure_text();
  return member->failure().text;
}

void Communicator::finalize() {
  if (finalized_.exchange(true)) return;
  const std::lock_guard lock(driving_);
  finish_all_queued();
  if (state() != heddleSuccess) throw base::Error(state(), failure_text());
}

void Communicator::leave() {
  Member* const member = world_.member();
  if (member == nullptr || state() != heddleSuccess) return;
  if (!member->leave(base::Seconds(settings_.timeout)) && !member->failed())
    base::log_warn("rank {} left, but not all ranks did within {:g} s", rank(), settings_.timeout);
}

void Communicator::abort() {
  const base::Deadline rest(kRest);
  finalized_ = true;
  aborted_ = true;
  const std::lock_guard lock(driving_);
  failing_.reset();
  pipes_.give_up();
  await_rest(rest);
  fail_everything(
      base::Error(heddleAborted, fmt::format("rank {} aborted the communicator", rank())));
}

}  // namespace heddle::communicator
