#include "transport/fabric/core.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/hash.hpp"
#include "transport/fabric/connection.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr base::Seconds kDrain{1.0};
constexpr std::size_t kCompletionsAtOnce = 16;
constexpr std::uint32_t kPollsPerEventRead = 256;

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string text = name[0] == 0 ? "unknown" : name;
  std::ranges::replace(text, ' ', '_');
  return text;
}

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

Core::Core(const base::Settings& settings, const ChosenProvider& provider)
    : settings_(settings), again_means_lost_(provider.again_means_lost) {
  address_.provider = provider.name;
  address_.protocol = provider.protocol;
  address_.rma = provider.rma;
  address_.host = host_name();
  address_.pid = getpid();
  base::fill_random(&address_.instance, sizeof address_.instance);

  std::size_t longest = sizeof(Header) + std::max(settings.eager_bytes, kControlBytes);
  for (const ChosenAdapter& chosen : provider.adapters)
    longest = std::min(longest, chosen.info->ep_attr->max_msg_size);
  if (longest < sizeof(Header) + kControlBytes)
    base::fail(heddleSystemError, "provider {} sends at most {} bytes at once, {} are needed",
               provider.name, longest, sizeof(Header) + kControlBytes);
  eager_bytes_ = std::min(settings.eager_bytes, longest - sizeof(Header));

  for (const ChosenAdapter& chosen : provider.adapters) {
    if (rails_.size() == static_cast<std::size_t>(kMaxRails)) break;
    rails_.push_back(std::make_unique<Rail>(chosen, static_cast<int>(rails_.size()), longest));
    const auto address = rails_.back()->address();
    address_.rails.emplace_back(address.begin(), address.end());
  }
  connections_.resize(1);
}

Core::~Core() {
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

Peer& Core::peer(const ProcessAddress& address) {
  if (const auto known = peers_.find(address.instance); known != peers_.end())
    return *known->second;
  const auto way = [](const ProcessAddress& a) {
    return fmt::format("provider {} ({}, {})", a.provider, a.protocol,
                       a.rma ? "RDMA write" : "messages");
  };
  if (address.provider != address_.provider || address.protocol != address_.protocol ||
      address.rma != address_.rma)
    base::fail(heddleInvalidUsage,
               "process {} of host {} uses {}, process {} of host {} uses {}; all ranks must use "
               "the same HEDDLE_PROVIDER and HEDDLE_RMA",
               address.pid, address.host, way(address), address_.pid, address_.host, way(address_));
  auto peer = std::make_unique<Peer>();
  peer->address = address;
  const std::size_t rails = std::min(rails_.size(), address.rails.size());
  for (std::size_t i = 0; i < rails; ++i) {
    if (address.rails[i].size() != rails_[i]->address().size())
      base::fail(heddleRemoteError, "process {} of host {}: its address has {} bytes, ours has {}",
                 address.pid, address.host, address.rails[i].size(), rails_[i]->address().size());
    peer->to.push_back(rails_[i]->insert(address.rails[i]));
  }
  peer->waiting.resize(rails);
  return *peers_.emplace(address.instance, std::move(peer)).first->second;
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
  closing(connection);
}

void Core::closing(Connection& connection) {
  if (std::ranges::find(closing_, &connection) == closing_.end()) closing_.push_back(&connection);
}

Connection* Core::find(std::uint32_t id) const {
  return id < connections_.size() ? connections_[id].get() : nullptr;
}

void Core::purge(Connection& connection) {
  for (RequestQueue& queue : connection.peer().waiting) {
    RequestQueue kept;
    while (!queue.empty()) {
      Request* request = queue.pop();
      if (request->owner != &connection) {
        kept.push(request);
      } else {
        recycle(*request);
      }
    }
    queue = kept;
  }
}

void Core::peer_died(Peer& peer, const std::string& why) {
  if (!peer.dead.empty()) return;
  peer.dead = why;
  for (const auto& connection : connections_)
    if (connection && &connection->peer() == &peer) connection->fail(heddleRemoteError, why);
}

void Core::on_immediate(std::uint64_t data) {
  const Immediate immediate = unpack(static_cast<std::uint32_t>(data));
  Connection* connection = find(immediate.connection);
  if (connection == nullptr || !connection->on_immediate(immediate))
    base::log_debug("NET/OFI drops a stray write to connection {}", immediate.connection);
}

bool Core::on_message(Request& bounce, std::size_t bytes) {
  Header header;
  if (bytes >= sizeof header) std::memcpy(&header, bounce.data, sizeof header);
  if (bytes < sizeof header || header.magic != kMagic || header.version != kProtocolVersion ||
      header.bytes != bytes - sizeof header) {
    base::log_warn("NET/OFI drops a message of {} bytes that is none of ours", bytes);
    return false;
  }
  std::byte* payload = bounce.data + sizeof header;
  if (header.kind == Kind::hello) {
    constexpr std::size_t kMostHellos = 1 << 14;
    Hello hello;
    if (header.bytes != sizeof hello) return false;
    std::memcpy(&hello, payload, sizeof hello);
    if (hello.to_instance != address_.instance) return false;
    hellos.push_back(hello);
    if (hellos.size() > kMostHellos) hellos.pop_front();
    return false;
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
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) on_immediate(entry.data);
    return;
  }
  Request& request = *static_cast<Request*>(entry.op_context);
  if (request.verb != Verb::receive) return finish(request, entry.len);
  rail.bounce_buffer_taken();
  const bool immediate = (entry.flags & (FI_REMOTE_WRITE | FI_RMA)) != 0;
  if (immediate) on_immediate(entry.data);
  if (immediate || !on_message(request, entry.len))
    rail.return_bounce_buffer(request);
  else
    rail.replenish();
}

void Core::on_failure(const Rail::Failure& failure) {
  Request* request = failure.request;
  if (request == nullptr) {
    base::log_warn("NET/OFI an operation without an owner failed: {}", failure.text);
    return;
  }
  if (request->verb == Verb::receive) {
    // Too long for us, or cancelled: nobody's message.
    base::log_warn("NET/OFI a receive buffer failed: {}", failure.text);
    rail(request->rail).bounce_buffer_taken();
    rail(request->rail).return_bounce_buffer(*request);
    return;
  }
  Connection& owner = *request->owner;
  recycle(*request);
  if (failure.code == FI_ECANCELED && owner.retired()) return;
  owner.fail(heddleRemoteError, failure.text);
  if (means_peer_is_gone(failure.code)) peer_died(owner.peer(), failure.text);
}

void Core::poll(Rail& rail) {
  std::array<fi_cq_data_entry, kCompletionsAtOnce> entries;
  std::size_t count = 0;
  for (int round = 0; round < 4; ++round) {
    if (rail.poll(entries, count) == Rail::Polled::error) {
      Rail::Failure failure;
      if (rail.read_error(failure)) on_failure(failure);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) on_completion(rail, entries[i]);
    if (count < entries.size()) return;
  }
}

void Core::progress() {
  for (const auto& rail : rails_) {
    poll(*rail);
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
