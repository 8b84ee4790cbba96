#include "transport/shared_memory/transport.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "transport/shared_memory/pipe_ends.hpp"

namespace heddle::transport {
namespace {

// The coarse clock costs a few nanoseconds, and its ticks of 1 to 4 ms are fine enough here.
std::int64_t coarse_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

SharedMemoryTransport::SharedMemoryTransport(base::Seconds hello_deadline)
    : hello_deadline_(hello_deadline), listener_(listen_abstract()) {
  address_ = {listener_.name, getpid(), own_network_namespace()};
}

// Rings that nobody accepted say so to their senders.
SharedMemoryTransport::~SharedMemoryTransport() {
  for (const auto& [key, arrival] : arrivals_) close_unclaimed(key, arrival);
}

void SharedMemoryTransport::close_unclaimed(const PipeKey& key, const Arrival& arrival) {
  // The destructor of a receiving end is what tells the sender.
  if (arrival.memory) SharedMemoryReceivePipe(arrival.memory, key, arrival.options);
}

void SharedMemoryTransport::add_secret(const CommunicatorId& communicator,
                                       const PipeSecret& secret) {
  const std::lock_guard lock(mutex_);
  secrets_.add(communicator, secret);
}

void SharedMemoryTransport::remove_secret(const CommunicatorId& communicator) {
  const std::lock_guard lock(mutex_);
  if (!secrets_.remove(communicator)) return;
  std::erase_if(callers_,
                [&](const auto& entry) { return entry.first.communicator == communicator; });
  for (Visitor& visitor : visitors_)
    if (visitor.authentic() && visitor.key().communicator == communicator)
      visitor.drop("its communicator has left");
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.ended(); });
  for (const auto& [key, arrival] : arrivals_)
    if (key.communicator == communicator) close_unclaimed(key, arrival);
  std::erase_if(arrivals_,
                [&](const auto& entry) { return entry.first.communicator == communicator; });
}

bool SharedMemoryTransport::reaches(const std::string& peer) const {
  const std::uint64_t theirs = parse_address(peer).namespace_id;
  return theirs == 0 || address_.namespace_id == 0 || theirs == address_.namespace_id;
}

void SharedMemoryTransport::check_reaches(const std::string& peer, const PipeKey& key) const {
  if (!reaches(peer))
    base::fail(heddleRemoteError,
               "the {}: {} is in another network namespace than {}; set HEDDLE_SHM=0",
               pipe_name(key), peer, address());
}

const PipeSecret& SharedMemoryTransport::secret_of(const PipeKey& key) const {
  const PipeSecret* const secret = secrets_.of(key.communicator);
  if (secret == nullptr)
    base::fail(heddleInvalidUsage, "the {}: its communicator has no secret here", pipe_name(key));
  return *secret;
}

std::unique_ptr<SendPipe> SharedMemoryTransport::connect(const std::string& peer,
                                                         const PipeKey& key,
                                                         const PipeOptions& options) {
  const std::lock_guard lock(mutex_);
  auto found = callers_.find(key);
  if (found == callers_.end()) {
    check_reaches(peer, key);
    found = callers_.try_emplace(key, peer, key, options, secret_of(key)).first;
  }
  // Two processes that both connect first must still answer each other.
  receive_visitors();
  try {
    if (!found->second.step()) return nullptr;
  } catch (...) {
    callers_.erase(found);
    throw;
  }
  auto pipe = std::make_unique<SharedMemorySendPipe>(found->second.take_memory(), key, options);
  callers_.erase(found);
  return pipe;
}

std::unique_ptr<ReceivePipe> SharedMemoryTransport::accept(const std::string& peer,
                                                           const PipeKey& key,
                                                           const PipeOptions& options) {
  const std::lock_guard lock(mutex_);
  check_reaches(peer, key);
  check_options(options);
  secret_of(key);
  receive_visitors();
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end()) {
    if (listener_error_ != 0)
      fail_with_limit(listener_error_, fmt::format("the {}: cannot accept", pipe_name(key)));
    return nullptr;
  }
  const Arrival arrival = std::move(found->second);
  arrivals_.erase(found);
  if (!arrival.memory) base::fail(heddleRemoteError, "the {}: {}", pipe_name(key), arrival.refusal);
  auto pipe = std::make_unique<SharedMemoryReceivePipe>(arrival.memory, key, arrival.options);
  if (arrival.options.slots != options.slots || arrival.options.slot_bytes != options.slot_bytes)
    base::fail(heddleRemoteError,
               "the {}: rank {} made {} slots of {} bytes where rank {} expects {} of {}: "
               "HEDDLE_SLOTS or HEDDLE_SLOT_BYTES differ between ranks",
               pipe_name(key), key.from, arrival.options.slots, arrival.options.slot_bytes, key.to,
               options.slots, options.slot_bytes);
  return pipe;
}

// Nothing here is urgent: whoever waits for a pipe calls connect or accept, which look at once.
void SharedMemoryTransport::progress() {
  const std::int64_t now = coarse_ms();
  if (now < next_look_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  next_look_.store(now + 1, std::memory_order_relaxed);
  receive_visitors();
}

void SharedMemoryTransport::receive_visitors() {
  take_connections();
  const auto find = [this](const CommunicatorId& communicator) {
    return secrets_.of(communicator);
  };
  for (Visitor& visitor : visitors_) {
    visitor.step(find);
    settle(visitor);
  }
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.ended(); });
}

void SharedMemoryTransport::take_connections() {
  for (;;) {
    Accepted accepted = accept_stream(listener_.socket.get());
    listener_error_ = accepted.error;
    if (accepted.error != 0 && drop_oldest_stranger()) continue;
    if (!accepted.socket) return;
    const PeerProcess process = peer_process(accepted.socket.get());
    visitors_.emplace_back(std::move(accepted.socket), process, hello_deadline_);
    if (process.uid != geteuid())
      visitors_.back().drop(fmt::format("it belongs to user {}", process.uid));
  }
}

// When descriptors have run out, those who only hold one make room for those who may belong here.
bool SharedMemoryTransport::drop_oldest_stranger() {
  const auto stranger =
      std::find_if(visitors_.begin(), visitors_.end(),
                   [](const Visitor& visitor) { return !visitor.ended() && !visitor.authentic(); });
  if (stranger == visitors_.end()) return false;
  stranger->drop("this process has no more descriptors");
  return true;
}

void SharedMemoryTransport::settle(Visitor& visitor) {
  if (visitor.state() != Visitor::State::arrived && visitor.state() != Visitor::State::refused)
    return;
  // A later connection for the same pipe replaces an earlier one, whose sender gave up.
  arrivals_.insert_or_assign(visitor.key(),
                             Arrival{visitor.take_memory(), visitor.options(), visitor.reason()});
}

}  // namespace heddle::transport
