// The part of Core that hands requests to libfabric, and keeps those that it does not take yet.
#include "transport/fabric/connection.hpp"

namespace heddle::transport::fabric {

namespace {

// A peer that took posts and takes none for so long is gone, where again_means_lost.
constexpr double kLostSeconds = 4;
// While a link is not up, its posts are tried again only so often, in polls.
constexpr std::uint32_t kPollsPerTry = 16;

double seconds_of(base::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

bool is_receive(const Request& request) {
  return request.verb == Verb::receive || request.verb == Verb::tagged_receive;
}

}  // namespace

Request& Core::request(Peer& peer, Verb verb, int link) {
  Request& request = *requests_.take();
  request.verb = verb;
  request.under_way = false;
  request.gave_up = false;
  request.asked = false;
  request.attempts = 0;
  request.link = link;
  request.owner = nullptr;
  request.peer = &peer;
  request.regions = nullptr;
  request.buffer = nullptr;
  request.length = 0;
  return request;
}

Request& Core::request(Connection& owner, Verb verb, int link) {
  Request& made = request(owner.peer(), verb, link);
  made.owner = &owner;
  owner.request_started();
  return made;
}

void Core::recycle(Request& request) {
  if (request.verb == Verb::probe) --request.peer->link(request.link).probes;
  if (request.owner != nullptr) {
    request.owner->ended(request);
    request.owner->request_ended();
  }
  if (request.buffer != nullptr) request.buffer->pool->give(*request.buffer);
  requests_.give(&request);
}

// It is not on its link any more.
void Core::leave(Request& request, bool through) {
  Link& link = request.peer->link(request.link);
  if (!is_receive(request)) link.bytes -= request.bytes;
  if (!std::exchange(request.under_way, false)) return;
  link.under_way.erase(&request);
  if (!request.peer->failover || is_receive(request)) return;
  const TimePoint now = base::Clock::now();
  if (through) {
    link.last_through = request.peer->silent_since = now;
    link.newest_through = std::max(link.newest_through, request.posted);
    link.goodput.through(request.bytes, seconds_of(now));
  }
  if (link.under_way.empty()) link.goodput.ended();
}

void Core::finish(Request& request, std::size_t bytes) {
  if (!is_receive(request))
    records_[static_cast<std::size_t>(request.rail)].sent_bytes += request.bytes;
  leave(request, true);
  if (request.owner != nullptr) request.owner->completed(request, bytes);
  recycle(request);
}

// A refusal counts as started: what becomes of the request is seen to.
Core::Posted Core::try_post(Request& request) {
  Peer& peer = *request.peer;
  Link& link = peer.link(request.link);
  try {
    request.posted = ++posts_;
    const Posted posted = rail(request.rail).post(request);
    if (posted == Posted::again) return posted;
    peer.reached = true;
    if (posted == Posted::done) {
      finish(request, request.bytes);
      return posted;
    }
    if (peer.failover && link.under_way.empty()) {
      link.last_through = base::Clock::now();
      link.goodput.started(seconds_of(link.last_through));
    }
    request.under_way = true;
    link.under_way.push(&request);
    return posted;
  } catch (const base::Error& error) {
    leave(request, false);
    failed(request, error.what());
    return Posted::done;
  }
}

void Core::wait(Request& request) {
  Peer& peer = *request.peer;
  request.waiting_since = base::Clock::now();
  peer.link(request.link).waiting.push(&request);
  if (peer.is_waiting) return;
  peer.is_waiting = true;
  waiting_.push_back(&peer);
}

void Core::submit(Request& request) {
  constexpr std::size_t kSmall = 256;
  Peer& peer = *request.peer;
  peer.small_streak = request.bytes > kSmall ? 0 : peer.small_streak + 1;
  request.may_inject = peer.small_streak > kStreakForInject;
  if (!peer.dead.empty() && request.owner == nullptr) return recycle(request);
  if (!peer.link(request.link).up && request.verb != Verb::probe) {
    hold(request);
    release_held(peer);
  } else {
    start(request);
  }
}

// Puts it on its link: those that wait go first.
void Core::start(Request& request) {
  Link& link = request.peer->link(request.link);
  request.rail = link.rail;
  request.to = link.to;
  request.their_generation = link.their_generation;
  request.desc = desc_of(request.regions, link.rail);
  if (request.verb == Verb::write) request.key = request.owner->key_for(request, request.link);
  if (!is_receive(request)) link.bytes += request.bytes;
  if (!link.waiting.empty() || try_post(request) == Posted::again) wait(request);
}

// "Again" for too long is no back-pressure: some providers answer so for ever when a peer is dead.
void Core::retry(Peer& peer) {
  bool any = false;
  for (int i = 0; i < peer.link_count(); ++i) {
    Link& link = peer.link(i);
    if (!link.waiting.empty() && !link.up && polls_ % kPollsPerTry != 0) {
      any = true;
      continue;
    }
    while (!link.waiting.empty()) {
      Request& request = *link.waiting.pop();
      if (try_post(request) != Posted::again) continue;
      link.waiting.push_front(&request);
      break;
    }
    if (link.waiting.empty()) continue;
    Request& first = *link.waiting.front();
    const double waited = base::seconds_since(first.waiting_since);
    if (peer.failover) {
      if (link.up && waited > kLostSeconds && again_means_lost_)
        fail_link(peer, i, fmt::format("its provider took nothing for {:.1f} s", waited),
                  base::LogLevel::warn);
    } else if (again_means_lost_ && peer.reached && waited > kLostSeconds) {
      peer_died(peer, fmt::format("the connection to its process is lost, {:.1f} s ago", waited));
    } else if (waited > settings_.timeout) {
      const std::string why = fmt::format(
          "the provider accepted nothing for it in {} s (HEDDLE_TIMEOUT)", settings_.timeout);
      if (first.owner != nullptr)
        first.owner->fail(heddleRemoteError, why);
      else
        peer_died(peer, why);
    }
    any = any || !link.waiting.empty();
  }
  if (!any || peer.is_waiting) return;
  peer.is_waiting = true;
  waiting_.push_back(&peer);
}

Request& Core::control_message(Request& request, ControlBuffer& buffer, const Header& header,
                               std::span<const std::byte> payload) {
  std::memcpy(buffer.data, &header, sizeof header);
  if (!payload.empty()) std::memcpy(buffer.data + sizeof header, payload.data(), payload.size());
  request.buffer = &buffer;
  request.data = buffer.data;
  request.bytes = sizeof header + header.bytes;
  request.regions = buffer.regions;
  return request;
}

void Core::send_copy(Connection& from, Header header, std::span<const std::byte> start,
                     std::span<const std::byte> data) {
  header.bytes = static_cast<std::uint32_t>(start.size() + data.size());
  ControlBuffer& buffer = eager_buffers_.take(rails_);
  if (!data.empty())
    std::memcpy(buffer.data + sizeof header + start.size(), data.data(), data.size());
  Request& sent = request(from, Verb::send, link_for_small(from.peer()));
  submit(control_message(sent, buffer, header, start));
}

void Core::send_control(Peer& peer, Header header, std::span<const std::byte> payload) {
  HEDDLE_ASSERT(payload.size() <= kControlBytes, "{} bytes", payload.size());
  header.bytes = static_cast<std::uint32_t>(payload.size());
  Request& sent = request(peer, Verb::send, link_for_small(peer));
  submit(control_message(sent, control_buffers_.take(rails_), header, payload));
}

void Core::send_control(Connection& from, Header header, std::span<const std::byte> payload) {
  HEDDLE_ASSERT(payload.size() <= kControlBytes, "{} bytes", payload.size());
  header.bytes = static_cast<std::uint32_t>(payload.size());
  // A ping must tell of its failure, so it is no inject.
  const Verb verb = header.kind == Kind::ping ? Verb::ping : Verb::send;
  Request& sent = request(from, verb, link_for_small(from.peer()));
  submit(control_message(sent, control_buffers_.take(rails_), header, payload));
}

void Core::ping(Connection& from) {
  Peer& peer = from.peer();
  if (peer.has_waiting() || !peer.dead.empty()) return;
  if (!peer.failover) return from.send_ping();
  // Over every idle link: one after the other would take as many times as long to find the process
  // gone.
  for (int i = 0; i < peer.link_count(); ++i)
    if (const Link& link = peer.link(i); link.up && link.under_way.empty())
      send_probe(peer, i, Kind::probe, link.probe);
}

std::span<const RailLoad> Core::loads(const Peer& peer) {
  const std::size_t count = peer.links.size();
  loads_.resize(count);
  measured_.resize(count);
  nominal_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Link& link = peer.links[i];
    loads_[i] = {link.up, 1, link.bytes};
    measured_[i] = link.goodput.value();
    nominal_[i] = link.nominal;
  }
  if (peer.failover) settle_speeds(measured_, nominal_, loads_);
  return loads_;
}

void Core::stripe(const Peer& peer, std::size_t bytes, std::uint32_t most,
                  std::vector<Stripe>& stripes) {
  const std::span<const RailLoad> now = loads(peer);
  share_out(bytes, now, least_stripe(measured_, now), most, stripes);
}

int Core::link_for_small(const Peer& peer) {
  if (peer.link_count() == 1) return 0;
  return std::max(0, least_loaded(loads(peer), peer.preference));
}

}  // namespace heddle::transport::fabric
