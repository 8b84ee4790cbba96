// The part of Core that finds out which links work: probes go over a link and are answered over it,
// new endpoints are announced over others, and a link that delivers nothing while others do is
// given up.
#include "transport/fabric/connection.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::chrono::milliseconds kTendPeriod{5};
// So long may requests on a failed link take to end before their rail is closed.
constexpr double kGraceSeconds = 0.25;
// With no link left for so long the process is dead.
constexpr double kDeadSeconds = 2;
constexpr int kMostProbes = 3;  // under way on a link
constexpr std::size_t kMostStrangers = 4096;

double between(base::Clock::time_point from, base::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

base::Clock::duration seconds(double value) {
  return std::chrono::duration_cast<base::Clock::duration>(base::Seconds(value));
}

RailEnd end_of(const Rail& rail) {
  RailEnd end{};
  end.generation = rail.generation();
  if (!rail.is_open()) return end;
  end.address_bytes = static_cast<std::uint32_t>(rail.address().size());
  std::ranges::copy(rail.address(), end.address.begin());
  return end;
}

}  // namespace

Peer* Core::peer_with(std::uint64_t instance) const {
  const auto known = peers_.find(instance);
  return known == peers_.end() ? nullptr : known->second.get();
}

void Core::send_rail_state(Peer& peer, int index, std::uint32_t refuses) {
  if (!peer.dead.empty()) return;
  const Link& link = peer.link(index);
  RailState state{};
  state.from_instance = address_.instance;
  state.to_instance = peer.address.instance;
  state.link = static_cast<std::uint32_t>(index);
  state.asks_for = link.asked_for;
  state.refuses = refuses;
  state.end = end_of(rail(link.rail));
  send_control(peer, header_of(Kind::rail_state), std::as_bytes(std::span(&state, 1)));
}

void Core::on_rail_state(const Header& header, const std::byte* payload) {
  RailState state;
  if (header.bytes != sizeof state) return;
  std::memcpy(&state, payload, sizeof state);
  Peer* peer = peer_with(state.from_instance);
  if (peer == nullptr || state.to_instance != address_.instance || !peer->failover ||
      state.link >= peer->links.size() || !peer->dead.empty())
    return;
  const int index = static_cast<int>(state.link);
  const Link& link = peer->link(index);
  const Rail& ours = rail(link.rail);
  if (state.asks_for > ours.generation() && ours.is_open()) {
    if (serves_a_single(link.rail))
      send_rail_state(*peer, index, state.asks_for);
    else
      renew(link.rail, fmt::format("process {} of host {} gave up writes to it", peer->address.pid,
                                   peer->address.host));
  }
  learn_end(*peer, index, state.end);
  if (state.refuses > link.their_generation) on_refusal(*peer, index);
}

// What was given up can go nowhere then: over another link it might be overtaken by itself.
void Core::on_refusal(Peer& peer, int index) {
  const Link& link = peer.link(index);
  peer_died(peer, fmt::format("{} failed with writes under way ({}), and the process cannot close "
                              "its end of it: others reach it over that rail alone",
                              name_of(peer, link), link.why));
  release_held(peer);
}

void Core::learn_end(Peer& peer, int index, const RailEnd& end) {
  Link& link = peer.link(index);
  Rail& ours = rail(link.rail);
  if (end.generation < link.their_generation) return;  // overtaken
  if (end.generation > link.their_generation) {
    link.their_generation = end.generation;
    link.to = FI_ADDR_NOTAVAIL;
    link.their_address.clear();
    fail_link(peer, index, "the other end has a new endpoint", base::LogLevel::info);
  }
  const auto told =
      std::span(end.address).first(std::min<std::size_t>(end.address_bytes, end.address.size()));
  if (link.their_address.empty() && ours.is_like_ours(told)) {
    link.their_address.assign(told.begin(), told.end());
    if (ours.is_open()) link.to = ours.insert(link.their_address);
    // Probes that wait would go to the old endpoint.
    withdraw_waiting(link, "the other end has a new endpoint");
    link.probe_at = std::min(link.probe_at, base::Clock::now() + link.backoff.pause());
  }
  release_held(peer);
}

void Core::send_probe(Peer& peer, int index, Kind kind, std::uint32_t number) {
  Link& link = peer.link(index);
  if (!rail(link.rail).is_open() || link.to == FI_ADDR_NOTAVAIL || link.probes > 2 * kMostProbes)
    return;
  const Probe probe{address_.instance, peer.address.instance, static_cast<std::uint32_t>(index),
                    number, end_of(rail(link.rail))};
  Header header = header_of(kind);
  header.bytes = static_cast<std::uint32_t>(probe_bytes_);
  ++link.probes;
  Request& sent = request(peer, Verb::probe, index);
  submit(control_message(sent, probe_buffers_.take(rails_), header,
                         std::as_bytes(std::span(&probe, 1))));
}

void Core::on_probe(const Header& header, const std::byte* payload) {
  Probe probe;
  if (header.bytes < sizeof probe) return;
  std::memcpy(&probe, payload, sizeof probe);
  if (probe.to_instance != address_.instance) return;
  Peer* peer = peer_with(probe.from_instance);
  if (peer == nullptr) {
    if (header.kind == Kind::probe) strangers_.push_back(probe);
    if (strangers_.size() > kMostStrangers) strangers_.pop_front();
    return;
  }
  if (!peer->failover || !peer->dead.empty() || probe.link >= peer->links.size()) return;
  const int index = static_cast<int>(probe.link);
  Link& link = peer->link(index);
  if (header.kind == Kind::probe) {
    answer(*peer, probe);
    // What works one way may work the other way too.
    if (!link.up) link.probe_at = std::min(link.probe_at, base::Clock::now());
  } else if (!link.up && probe.number == link.probe) {
    link_is_up(*peer, index);
  }
}

// The prober may have a new endpoint that we have not heard of over another link.
void Core::answer(Peer& peer, const Probe& probe) {
  const int index = static_cast<int>(probe.link);
  learn_end(peer, index, probe.end);
  send_probe(peer, index, Kind::probe_answer, probe.number);
}

void Core::link_is_up(Peer& peer, int index) {
  Link& link = peer.link(index);
  const TimePoint now = base::Clock::now();
  link.up = true;
  link.up_since = now;
  link.goodput = {};
  link.last_through = peer.silent_since = now;
  if (link.was_up) {
    ++records_[static_cast<std::size_t>(link.rail)].came_back;
    base::log(link.level, "NET/OFI {} is back after {:.1f} s: {} of {} rails", name_of(peer, link),
              between(link.down_since, now), peer.up_count(), peer.link_count());
  } else {
    base::log_debug("NET/OFI {} is up after {:.3f} s", name_of(peer, link),
                    between(link.down_since, now));
  }
  link.was_up = true;
  peer.ever_up = true;
  release_held(peer);
}

// Whether some process is reached over this rail and no other.
bool Core::is_only_way(int rail) const {
  for (const auto& [instance, peer] : peers_) {
    if (!peer->dead.empty() || peer->up_count() != 1) continue;
    for (const Link& link : peer->links)
      if (link.up && link.rail == rail) return true;
  }
  return false;
}

// Whether closing the rail would end the connection to a process that has no other link to us.
bool Core::serves_a_single(int rail) const {
  return std::ranges::any_of(peers_, [&](const auto& entry) {
    const Peer& peer = *entry.second;
    return !peer.failover && peer.dead.empty() &&
           std::ranges::any_of(peer.links, [&](const Link& link) { return link.rail == rail; });
  });
}

void Core::tend() {
  const TimePoint now = base::Clock::now();
  if (now < next_tend_) return;
  next_tend_ = now + kTendPeriod;
  for (auto& [instance, peer] : peers_)
    if (peer->failover && peer->dead.empty()) tend(*peer, now);
  for (std::size_t rail = 0; rail < rails_.size(); ++rail)
    if (!rails_[rail]->is_open() && now >= records_[rail].reopen_at)
      reopen_rail(static_cast<int>(rail));
}

void Core::tend(Peer& peer, TimePoint now) {
  const auto carries = [](const Link& link) { return link.up && !link.under_way.empty(); };
  const bool waits =
      peer.ever_up && (!peer.held.empty() || std::ranges::any_of(peer.links, carries));
  if (!waits) peer.silent_since = now;
  for (int i = 0; i < peer.link_count(); ++i) {
    if (peer.link(i).up)
      tend_up(peer, i, now);
    else
      tend_down(peer, i, now);
  }
  if (!peer.dead.empty()) return;
  if (peer.ever_up && peer.up_count() == 0 && between(peer.none_up_since, now) > kDeadSeconds)
    peer_died(peer, "no adapter reaches its process any more: " + state_of_links(peer));
  // A little before whoever waits for the operation gives up: the adapters are to be named.
  constexpr double kPartOfTimeout = 0.8;
  const double silent = between(peer.silent_since, now);
  if (silent > kPartOfTimeout * settings_.timeout) {
    std::string names;
    for (const Link& link : peer.links)
      names += (names.empty() ? "" : ", ") + rail(link.rail).adapter().name;
    peer_died(peer, fmt::format("nothing has been delivered to its process for {:.1f} s over any "
                                "adapter ({}); HEDDLE_TIMEOUT is {:g} s",
                                silent, names, settings_.timeout));
  }
}

// Given up when it delivers nothing though others to the same process deliver what was posted
// later: a process that only computes gives up none.
void Core::tend_up(Peer& peer, int index, TimePoint now) {
  Link& link = peer.link(index);
  const double quiet = between(link.last_through, now);
  const Request* oldest = link.under_way.front();
  if (oldest != nullptr && oldest->their_generation < link.their_generation &&
      quiet > kGraceSeconds && !is_only_way(link.rail))
    renew(link.rail, "requests to an endpoint that is gone do not end");
  // Whoever waits for this one may post nothing more anywhere: what idle links deliver must show.
  if (oldest != nullptr && quiet > settings_.rail_timeout / 2)
    for (int i = 0; i < peer.link_count(); ++i)
      if (const Link& other = peer.link(i); i != index && other.up && other.under_way.empty() &&
                                            other.waiting.empty() &&
                                            other.newest_through < oldest->posted)
        send_probe(peer, i, Kind::probe, other.probe);
  const auto overtaken = [&](const Link& other) {
    if (&other == &link || !other.up) return false;
    if (oldest != nullptr) return other.newest_through > oldest->posted;
    return other.last_through > link.waiting.front()->waiting_since + seconds(kGraceSeconds);
  };
  double stuck = 0;
  if (oldest != nullptr)
    stuck = quiet;
  else if (!link.waiting.empty())
    stuck = between(link.waiting.front()->waiting_since, now);
  if (stuck > settings_.rail_timeout && std::ranges::any_of(peer.links, overtaken))
    fail_link(peer, index,
              fmt::format("it delivered nothing for {:.1f} s while others did "
                          "(HEDDLE_RAIL_TIMEOUT)",
                          stuck),
              base::LogLevel::warn);
}

void Core::tend_down(Peer& peer, int index, TimePoint now) {
  Link& link = peer.link(index);
  const double down = between(link.down_since, now);
  bool left = false;
  for (const Request* r = link.under_way.front(); r != nullptr && !left; r = r->next)
    left = r->verb != Verb::probe;
  if (left && down > kGraceSeconds && rail(link.rail).is_open() && !is_only_way(link.rail))
    renew(link.rail, link.why);
  if (now >= link.probe_at) {
    if (link.probes < kMostProbes) send_probe(peer, index, Kind::probe, link.probe);
    link.backoff.grow();
    link.probe_at = now + link.backoff.pause();
  }
  if (!link.was_up && !link.told && peer.up_count() > 0 && down > settings_.rail_timeout) {
    link.told = true;
    base::log_warn(
        "NET/OFI {} does not answer: are the networks connected? It is not used until it "
        "does",
        name_of(peer, link));
  }
}

}  // namespace heddle::transport::fabric
