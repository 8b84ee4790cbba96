// The part of Core that sees to links and rails that fail (docs/rails.md).
//
// A link fails: what it carried goes over the peer's other links. A write that had been handed over
// waits until the peer has closed the endpoint it was meant for: from a network that still holds
// its bytes it could otherwise arrive when its slot belongs to another message. Into user memory
// none is repeated before the peer has said that it has not come.
// A rail gets a new endpoint when the peer asks for that, or when requests on a failed link end
// neither well nor badly: closing is the only way to be rid of them.
#include "transport/fabric/connection.hpp"
#include "transport/fabric/first_error.hpp"

namespace heddle::transport::fabric {

namespace {

// So often is a request tried before it is itself what is wrong.
constexpr int kMostAttempts = 20;
// A link that fails again so soon is tried again later and later.
constexpr double kSteadySeconds = 5;
constexpr double kFirstPause = 0.05;

}  // namespace

// It is on no link any more and has not got through.
void Core::failed(Request& request, const std::string& why) {
  Peer& peer = *request.peer;
  Connection* owner = request.owner;
  if (!peer.failover) {
    recycle(request);
    if (owner != nullptr) owner->fail(heddleRemoteError, why);
    return;
  }
  const bool lost_write = request.verb == Verb::write && request.gave_up;
  // Nobody wants the message of a failed connection, but its goodbye promises that nothing arrives
  // later.
  const bool unwanted = owner != nullptr && owner->failed() && !lost_write && !is_control(request);
  if (request.verb == Verb::probe) return probe_failed(request, why);
  if (!peer.dead.empty() || unwanted) return recycle(request);
  if (request.attempts == kMostAttempts) {
    if (owner != nullptr) owner->fail(heddleRemoteError, why);
    // One that may land still waits for that, as any of a failed connection.
    if (!lost_write) return recycle(request);
  } else {
    ++request.attempts;
  }
  const int index = request.link;
  const bool of_this_endpoint = request.their_generation == peer.link(index).their_generation;
  hold(request);
  if (of_this_endpoint) {
    fail_link(peer, index, why, base::LogLevel::warn);
    if (lost_write) ask_to_close(peer, index);
  }
  release_held(peer);
}

// Over a link that is up, a probe that did not get through is what finds a process gone whose peers
// have nothing to send.
void Core::probe_failed(Request& request, const std::string& why) {
  Peer& peer = *request.peer;
  const int index = request.link;
  const Link& link = peer.link(index);
  const bool tells = request.gave_up && link.up && peer.dead.empty() &&
                     request.their_generation == link.their_generation &&
                     request.posted > link.newest_through;
  recycle(request);
  if (tells) fail_link(peer, index, why, base::LogLevel::warn);
}

// What waits was meant for an address that is not to be used any more.
void Core::withdraw_waiting(Link& link, const std::string& why) {
  while (!link.waiting.empty()) {
    Request& request = *link.waiting.pop();
    leave(request, false);
    failed(request, why);
  }
}

void Core::hold(Request& request) { request.peer->held.push(&request); }

void Core::release_held(Peer& peer) {
  RequestQueue queue = std::exchange(peer.held, {});
  while (!queue.empty()) {
    Request& request = *queue.pop();
    const bool may_still_land = request.gave_up && may_land(request, peer.link(request.link));
    const bool unwanted = request.owner != nullptr && request.owner->failed() && !may_still_land &&
                          !is_control(request);
    if (!peer.dead.empty() || unwanted) {
      recycle(request);
      continue;
    }
    if (request.gave_up && !may_still_land && request.verb == Verb::write &&
        !request.owner->may_repeat()) {
      hold(request);
      if (!std::exchange(request.asked, true)) request.owner->ask_for(request);
      continue;
    }
    const int link = may_still_land ? -1 : least_loaded(loads(peer), peer.preference);
    if (link < 0) {
      hold(request);
      continue;
    }
    request.gave_up = false;
    request.link = link;
    start(request);
  }
}

void Core::decide(Peer& peer, const std::function<bool(const Request&)>& is_meant, bool came) {
  RequestQueue queue = std::exchange(peer.held, {});
  while (!queue.empty()) {
    Request& request = *queue.pop();
    if (!is_meant(request)) {
      hold(request);
      continue;
    }
    request.asked = false;
    if (came) {
      request.owner->completed(request, request.bytes);
      recycle(request);
    } else {
      request.gave_up = false;
      hold(request);
    }
  }
  release_held(peer);
}

void Core::fail_link(Peer& peer, int index, const std::string& why, base::LogLevel level) {
  Link& link = peer.link(index);
  if (!link.up) return;
  const TimePoint now = base::Clock::now();
  const bool steady = std::chrono::duration<double>(now - link.up_since).count() > kSteadySeconds;
  if (steady || !link.backoff.started())
    link.backoff.start(kFirstPause);
  else
    link.backoff.grow();
  link.up = false;
  link.down_since = now;
  link.why = why;
  // A process that has left closes its endpoints, and nobody misses them.
  const bool missed = std::ranges::any_of(connections_, [&](const auto& connection) {
    return connection && &connection->peer() == &peer && !connection->retired();
  });
  link.level = missed ? level : base::LogLevel::info;
  ++link.probe;
  link.probe_at = now + link.backoff.pause();
  ++records_[static_cast<std::size_t>(link.rail)].given_up;
  base::log(link.level, "NET/OFI {} is given up: {}; {} of {} rails carry on", name_of(peer, link),
            why, peer.up_count(), peer.link_count());
  while (!link.waiting.empty()) {
    Request& request = *link.waiting.pop();
    leave(request, false);
    if (request.verb == Verb::probe)
      recycle(request);
    else
      hold(request);
  }
  for (const Request* r = link.under_way.front(); r != nullptr; r = r->next)
    if (may_land(*r, link)) {
      ask_to_close(peer, index);
      break;
    }
  if (peer.up_count() == 0) peer.none_up_since = now;
  release_held(peer);
  // It may be the process that is gone, which idle links would show one after the other, each when
  // it is next used.
  if (level == base::LogLevel::warn && !retiring_)
    for (int i = 0; i < peer.link_count(); ++i)
      if (const Link& other = peer.link(i); other.up && other.under_way.empty())
        send_probe(peer, i, Kind::probe, other.probe);
}

void Core::ask_to_close(Peer& peer, int index) {
  Link& link = peer.link(index);
  if (link.asked_for > link.their_generation) return;
  link.asked_for = link.their_generation + 1;
  if (!retiring_) send_rail_state(peer, index);
}

void Core::renew(int rail, const std::string& why) {
  if (!failover_ || rail < 0 || rail >= static_cast<int>(rails_.size()))
    base::fail(heddleInvalidArgument, "rail {} of {} cannot be given a new endpoint", rail,
               rails_.size());
  records_[static_cast<std::size_t>(rail)].retire_why = why;
}

// Not while completions are being read: they name requests.
void Core::retire_rails() {
  for (std::size_t rail = 0; rail < records_.size(); ++rail)
    if (!records_[rail].retire_why.empty())
      retire_rail(static_cast<int>(rail), std::exchange(records_[rail].retire_why, {}));
}

template <typename Use>
void Core::each_link_of(int rail, Use use) {
  for (auto& [instance, peer] : peers_)
    for (int i = 0; i < peer->link_count(); ++i)
      if (peer->link(i).rail == rail) use(*peer, i);
  for (const auto& way : ways_)
    if (way->link(0).rail == rail) use(*way, 0);
}

// Once begun it goes through to the end: a rail half closed would stay so.
void Core::retire_rail(int index, const std::string& why) {
  Rail& retired = rail(index);
  if (!retired.is_open()) return;
  base::log_info("NET/OFI rail {} gets a new endpoint: {}", retired.adapter().name, why);
  FirstError error;
  retiring_ = true;
  each_link_of(index, [&](Peer& peer, int link) {
    error.guard([&] {
      if (peer.failover && peer.dead.empty()) fail_link(peer, link, why, base::LogLevel::info);
    });
  });
  // What has arrived has arrived: its sender may know already.
  error.guard([&] { drain(retired); });
  retired.close_endpoint();
  if (retired.may_poll_closed()) error.guard([&] { drain(retired); });
  each_link_of(index, [&](Peer& peer, int i) {
    Link& link = peer.link(i);
    while (!link.under_way.empty()) {
      Request& request = *link.under_way.front();
      leave(request, false);
      request.gave_up = true;
      error.guard([&] {
        if (may_land(request, link) && peer.failover) ask_to_close(peer, i);
        failed(request, why);
      });
    }
    // Probes, of a link that was down before: reopening may make a domain of its own, in which
    // their address means nothing (libfabric's tcp faults at it).
    error.guard([&] { withdraw_waiting(link, why); });
    if (!retired.may_poll_closed()) link.to = FI_ADDR_NOTAVAIL;
    if (!peer.failover) error.guard([&] { peer_died(peer, why); });
  });
  retired.close_completions();
  ++records_[static_cast<std::size_t>(index)].new_endpoints;
  retiring_ = false;
  error.guard([&] { reopen_rail(index); });
  error.rethrow();
}

// Tells every peer, also when the new endpoint has to wait: the old one is closed.
void Core::reopen_rail(int index) {
  Rail& opened = rail(index);
  RailRecord& record = records_[static_cast<std::size_t>(index)];
  const bool first_try = !record.backoff.started();
  try {
    opened.reopen();
    record.backoff.reset();
    const auto address = opened.address();
    auto& published = address_.rails[static_cast<std::size_t>(index)];
    published.address.assign(address.begin(), address.end());
    published.generation = opened.generation();
  } catch (const base::Error& error) {
    base::log_info("NET/OFI rail {} stays closed for now: {}", opened.adapter().name, error.what());
    record.backoff.grow();
    record.reopen_at = base::Clock::now() + record.backoff.pause();
  }
  if (!opened.is_open() && !first_try) return;
  each_link_of(index, [&](Peer& peer, int i) {
    if (!peer.failover || !peer.dead.empty()) return;
    Link& link = peer.link(i);
    if (opened.is_open() && link.to == FI_ADDR_NOTAVAIL && !link.their_address.empty())
      link.to = opened.insert(link.their_address);
    link.probe_at = std::min(link.probe_at, base::Clock::now());
    send_rail_state(peer, i);
    release_held(peer);
  });
}

}  // namespace heddle::transport::fabric
