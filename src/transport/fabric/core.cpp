#include "transport/fabric/core.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "transport/fabric/connection.hpp"
#include "transport/fabric/first_error.hpp"
#include "transport/fabric/meeting.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr base::Seconds kDrain{1.0};
constexpr std::size_t kCompletionsAtOnce = 16;
constexpr int kReadings = 4;  // of one rail before the next has its turn
constexpr std::uint32_t kPollsPerEventRead = 256;
constexpr std::uint32_t kPollsPerClock = 16;

// Errors that say the other process or the way to it is gone, not that this operation was wrong.
bool means_peer_is_gone(int code) {
  switch (code) {
    case FI_ECONNABORTED:
    case FI_ECONNREFUSED:
    case FI_ECONNRESET:
    case FI_EHOSTUNREACH:
    case FI_ENOTCONN:
    case FI_ENOENT:
    case FI_EIO: return true;
    default: return false;
  }
}

}  // namespace

bool is_control(const Request& request) {
  if (request.buffer == nullptr) return false;
  Header header;
  std::memcpy(&header, request.buffer->data, sizeof header);
  return header.kind != Kind::eager && header.kind != Kind::ahead;
}

Core::~Core() {
  keeper_.stop();
  const base::Deadline deadline(kDrain);
  {
    const std::lock_guard lock(mutex);
    try {
      while (!drained() && !deadline.passed()) {
        progress();
        std::this_thread::yield();
      }
    } catch (const base::Error& error) {
      base::log_warn("NET/OFI while closing: {}", error.what());
    }
  }
  for (auto& rail : rails_) rail->close_endpoint();
}

bool Core::drained() const {
  return std::ranges::all_of(closing_, [](const Connection* c) { return c->drained(); });
}

Connection& Core::add(std::unique_ptr<Connection> connection) {
  std::uint32_t id;
  // A new id while there are few, so that strays of a closed connection find nobody.
  if (connections_.size() < 1024 || (free_ids_.empty() && connections_.size() < kMaxConnections)) {
    id = static_cast<std::uint32_t>(connections_.size());
    connections_.emplace_back();
  } else if (!free_ids_.empty()) {
    id = free_ids_.front();
    free_ids_.pop_front();
  } else {
    base::fail(heddleSystemError, "this process has {} connections, no more are possible",
               kMaxConnections - 1);
  }
  connection->set_id(id);
  connections_[id] = std::move(connection);
  return *connections_[id];
}

void Core::retire(Connection& connection, Area memory) {
  connection.retire(std::move(memory));
  connection.step_closing();  // nobody may call progress() soon
  closing(connection);
}

void Core::closing(Connection& connection) {
  if (std::ranges::find(closing_, &connection) == closing_.end()) closing_.push_back(&connection);
}

Connection* Core::find(std::uint32_t id) const {
  return id < connections_.size() ? connections_[id].get() : nullptr;
}

void Core::purge(Connection& connection) {
  Peer& peer = connection.peer();
  // The other end is to be told. Where a write was under way before, and may arrive yet, the
  // goodbye has to wait for it.
  const auto may_go = [&](const Request& request) {
    if (request.owner != &connection) return false;
    if (!peer.dead.empty()) return true;
    return !is_control(request) && !(request.gave_up && may_land(request, peer.link(request.link)));
  };
  const auto drop = [&](RequestQueue& queue, bool on_link) {
    RequestQueue kept, dropped;
    while (!queue.empty()) {
      Request* request = queue.pop();
      (may_go(*request) ? dropped : kept).push(request);
    }
    queue = kept;
    while (!dropped.empty()) {
      Request& request = *dropped.pop();
      if (on_link) leave(request, false);
      recycle(request);
    }
  };
  for (Link& link : peer.links) drop(link.waiting, true);
  drop(peer.held, false);
}

void Core::peer_died(Peer& peer, const std::string& why) {
  if (!peer.dead.empty()) return;
  peer.dead = why;
  for (const auto& connection : connections_)
    if (connection && &connection->peer() == &peer) {
      connection->fail(heddleRemoteError, why);
      purge(*connection);
    }
}

void Core::on_immediate(const fi_cq_data_entry& entry) {
  const Immediate immediate = unpack(static_cast<std::uint32_t>(entry.data));
  Connection* connection = find(immediate.connection);
  if (connection == nullptr ||
      !connection->on_immediate(immediate, tells_written_length_ ? entry.len : 0))
    base::log_debug("NET/OFI drops a stray write to connection {}", immediate.connection);
}

bool Core::on_hello(const Header& header, const std::byte* payload) {
  constexpr std::size_t kMostHellos = 1 << 14;
  Hello hello;
  if (header.bytes != sizeof hello) return false;
  std::memcpy(&hello, payload, sizeof hello);
  if (hello.to_instance != address_.instance) return false;
  hellos.push_back(hello);
  if (hellos.size() > kMostHellos) hellos.pop_front();
  return false;
}

bool Core::on_message(Request& bounce, std::size_t bytes) {
  Header header;
  if (bytes >= sizeof header) std::memcpy(&header, bounce.data, sizeof header);
  if (bytes < sizeof header || header.magic != kMagic || header.version != kProtocolVersion ||
      header.bytes != bytes - sizeof header) {
    if (std::has_single_bit(++not_ours_))  // no stranger fills the log
      base::log_warn("NET/OFI drops a message of {} bytes that is none of ours, {} so far", bytes,
                     not_ours_);
    return false;
  }
  std::byte* payload = bounce.data + sizeof header;
  switch (header.kind) {
    case Kind::hello: return on_hello(header, payload);
    case Kind::probe:
    case Kind::probe_answer: return on_probe(header, payload), false;
    case Kind::rail_state: return on_rail_state(header, payload), false;
    case Kind::introduce:
      if (meeting != nullptr) meeting->on_introduce(header, payload);
      return false;
    case Kind::introduced:
      if (meeting != nullptr) meeting->on_introduced(header, payload);
      return false;
    default: break;
  }
  Connection* connection = find(header.connection);
  if (connection == nullptr || header.token != connection->token()) {
    base::log_debug("NET/OFI drops a stray message to connection {}", header.connection);
    return false;
  }
  return connection->on_message(header, payload, bounce);
}

void Core::on_completion(Rail& rail, const fi_cq_data_entry& entry) {
  // A write by a peer has no request, or uses up a posted buffer as some providers want it.
  if (entry.op_context == nullptr) {
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) on_immediate(entry);
    return;
  }
  Request& request = *static_cast<Request*>(entry.op_context);
  if (request.verb != Verb::receive) return finish(request, entry.len);
  rail.bounce_buffer_taken(request);
  const bool immediate = (entry.flags & (FI_REMOTE_WRITE | FI_RMA)) != 0;
  bool kept = false;
  FirstError error;
  error.guard([&] {
    if (immediate)
      on_immediate(entry);
    else
      kept = on_message(request, entry.len);
  });
  if (kept)
    rail.replenish();
  else
    rail.return_bounce_buffer(request);
  error.rethrow();
}

void Core::on_failure(Rail& rail, const Rail::Failure& failure) {
  Request* request = failure.request;
  if (request == nullptr) {
    base::log_warn("NET/OFI an operation without an owner failed: {}", failure.text);
    return;
  }
  if (request->verb == Verb::receive) {
    rail.bounce_buffer_taken(*request);
    // Too long for us, or cancelled with its endpoint: nobody's message.
    if (!retiring_) base::log_warn("NET/OFI a receive buffer failed: {}", failure.text);
    rail.return_bounce_buffer(*request);
    return;
  }
  if (request->peer->failover) {
    leave(*request, false);
    request->gave_up = true;
    failed(*request, failure.text);
    return;
  }
  Connection* const owner = request->owner;
  Peer& peer = *request->peer;
  leave(*request, false);
  recycle(*request);
  if (owner != nullptr) {
    if (failure.code == FI_ECANCELED && owner->retired()) return;
    owner->fail(heddleRemoteError, failure.text);
  }
  if (means_peer_is_gone(failure.code)) peer_died(peer, failure.text);
}

// Completions that have been read are nowhere else any more: each is handled, whatever the handling
// of another throws.
void Core::poll(Rail& rail, int most_readings, std::size_t fewest) {
  std::array<fi_cq_data_entry, kCompletionsAtOnce> entries;
  std::size_t count = 0;
  FirstError error;
  for (int reading = 0; reading < most_readings; ++reading) {
    if (rail.poll(entries, count) == Rail::Polled::error) {
      Rail::Failure failure;
      if (rail.read_error(failure)) error.guard([&] { on_failure(rail, failure); });
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) error.guard([&] { on_completion(rail, entries[i]); });
    if (count < fewest) break;
  }
  error.rethrow();
}

void Core::drain(Rail& rail) {
  constexpr int kMostReadings = 1 << 20;
  poll(rail, kMostReadings, 1);
}

void Core::progress() {
  for (const auto& rail : rails_) {
    if (!rail->is_open()) continue;
    poll(*rail, kReadings, kCompletionsAtOnce);
    if (polls_ % kPollsPerEventRead == 0) {
      rail->read_events();
      rail->replenish();
    }
  }
  ++polls_;
  if (!waiting_.empty()) {
    std::vector<Peer*> peers;
    peers.swap(waiting_);
    for (Peer* peer : peers) {
      peer->is_waiting = false;
      retry(*peer);
    }
  }
  if (failover_) {
    retire_rails();
    if (polls_ % kPollsPerClock == 0) tend();
  }
  step_closing();
}

void Core::step_closing() {
  for (std::size_t i = 0; i < closing_.size();) {
    Connection& connection = *closing_[i];
    connection.step_closing();
    if (!connection.finished()) {
      ++i;
      continue;
    }
    closing_.erase(closing_.begin() + static_cast<std::ptrdiff_t>(i));
    free_ids_.push_back(connection.id());
    connections_[connection.id()].reset();
  }
}

}  // namespace heddle::transport::fabric
