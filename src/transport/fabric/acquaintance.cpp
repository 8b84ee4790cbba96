// The part of Core that opens the rails, and finds the links to another process.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/hash.hpp"
#include "base/host_name.hpp"
#include "base/text.hpp"
#include "transport/fabric/connection.hpp"
#include "transport/fabric/rail_pairing.hpp"

namespace heddle::transport::fabric {

namespace {

std::string host_word() {
  std::string text = base::host_name();
  std::ranges::replace(text, ' ', '_');
  return text;
}

// Rails next to the processor that opens them first, each group in rail order.
std::vector<int> nearest_first(std::span<const std::unique_ptr<Rail>> rails) {
  unsigned cpu = 0, node = 0;
  const bool known = getcpu(&cpu, &node) == 0;
  std::vector<int> order(rails.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(), [&](int rail) {
    return known &&
           rails[static_cast<std::size_t>(rail)]->adapter().numa_node == static_cast<int>(node);
  });
  return order;
}

}  // namespace

Core::Core(const base::Settings& settings, const ChosenProvider& provider)
    : settings_(settings),
      again_means_lost_(provider.again_means_lost),
      failover_(provider.rma && provider.reopen != ChosenProvider::Reopen::never &&
                provider.adapters.size() > 1),
      tells_written_length_(provider.tells_written_length),
      control_buffers_(sizeof(Header) + kControlBytes, 64),
      probe_buffers_(sizeof(Header) + kProbeBytes, 8),
      eager_buffers_(sizeof(Header) + std::max(settings.eager_bytes, kControlBytes), 16) {
  address_.provider = provider.name;
  address_.protocol = provider.protocol;
  address_.rma = provider.rma;
  address_.host = host_word();
  address_.pid = getpid();
  base::fill_random(&address_.instance, sizeof address_.instance);

  std::size_t longest = sizeof(Header) + std::max(settings.eager_bytes, kControlBytes);
  if (failover_) longest = std::max(longest, sizeof(Header) + kProbeBytes);
  for (const ChosenAdapter& chosen : provider.adapters)
    longest = std::min(longest, chosen.send_bytes);
  if (longest < sizeof(Header) + kControlBytes)
    base::fail(heddleSystemError, "provider {} sends at most {} bytes at once, {} are needed",
               provider.name, longest, sizeof(Header) + kControlBytes);
  probe_bytes_ = std::min(kProbeBytes, longest - sizeof(Header));
  eager_bytes_ = std::min(settings.eager_bytes, longest - sizeof(Header));

  const RailOptions options{.message_bytes = longest,
                            .ask_for_delivery = failover_ && provider.must_ask_for_delivery,
                            .renews_domain = provider.reopen == ChosenProvider::Reopen::domain};
  for (const ChosenAdapter& chosen : provider.adapters) {
    if (rails_.size() == static_cast<std::size_t>(kMaxRails)) break;
    rails_.push_back(std::make_unique<Rail>(chosen, static_cast<int>(rails_.size()), options));
    const Rail& rail = *rails_.back();
    const auto address = rail.address();
    address_.rails.push_back({{address.begin(), address.end()},
                              rail.adapter().name,
                              rail.adapter().network,
                              rail.adapter().gigabits,
                              0});
  }
  records_.resize(rails_.size());
  preference_ = nearest_first(rails_);
  connections_.resize(1);
  if (failover_) keep_driving();
}

void Core::keep_driving() {
  keeper_.start([this, seen = polls_]() mutable {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (seen == polls_) {
      try {
        progress();
        tend();
      } catch (const base::Error& error) {
        base::log_warn("NET/OFI between operations: {}", error.what());
      }
    }
    seen = polls_;
  });
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
  peer->small_streak = kStreakForInject;
  pair_links(*peer);
  Peer& known = *peers_.emplace(address.instance, std::move(peer)).first->second;
  // The address that the peer has of us may be from before.
  for (int i = 0; known.failover && i < known.link_count(); ++i)
    if (rail(known.link(i).rail).generation() > 0) send_rail_state(known, i);
  // Probes that came before the acquaintance are answered now.
  for (std::size_t i = 0; i < strangers_.size();) {
    if (strangers_[i].from_instance != address.instance) {
      ++i;
      continue;
    }
    const Probe probe = strangers_[i];
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    if (known.failover && probe.link < known.links.size()) answer(known, probe);
  }
  return known;
}

Peer* Core::open_way(std::uint64_t instance, int index, std::span<const std::uint8_t> address) {
  clear_ways();
  Rail& rail_of_it = rail(index);
  if (!rail_of_it.is_open() || !rail_of_it.is_like_ours(address)) return nullptr;
  auto way = std::make_unique<Peer>();
  way->address.instance = instance;
  way->address.host = "unknown";
  way->address.rails.push_back({{address.begin(), address.end()}, "unknown", "", 0, 0});
  way->small_streak = 0;  // its failure must show
  Link& link = way->links.emplace_back();
  link.rail = index;
  link.their_rail = 0;
  link.nominal = 0;
  link.up = true;
  link.their_address.assign(address.begin(), address.end());
  link.to = rail_of_it.insert(address);
  way->preference.push_back(0);
  ways_.push_back(std::move(way));
  return ways_.back().get();
}

void Core::close_way(Peer& way) { way.way_closed = true; }

void Core::clear_ways() {
  std::erase_if(ways_, [](const std::unique_ptr<Peer>& way) {
    return way->way_closed && !way->is_waiting && !way->has_waiting() &&
           way->links.front().under_way.empty();
  });
}

void Core::pair_links(Peer& peer) {
  std::vector<std::string> ours, theirs;
  for (const auto& rail : address_.rails) ours.push_back(rail.network);
  for (const auto& rail : peer.address.rails) theirs.push_back(rail.network);
  const TimePoint now = base::Clock::now();
  for (const RailPair& pair : pair_rails(ours, theirs, address_.instance < peer.address.instance)) {
    const auto& mine = address_.rails[static_cast<std::size_t>(pair.ours)];
    const auto& other = peer.address.rails[static_cast<std::size_t>(pair.theirs)];
    if (!rail(pair.ours).is_like_ours(other.address)) continue;  // IPv4 here, IPv6 there
    Link& link = peer.links.emplace_back();
    link.rail = pair.ours;
    link.their_rail = pair.theirs;
    link.nominal = std::min(mine.gigabits, other.gigabits);
    link.their_address = other.address;
    if (rail(pair.ours).is_open()) link.to = rail(pair.ours).insert(other.address);
    link.their_generation = other.generation;
    link.down_since = now;
    link.probe_at = now;
  }
  if (peer.links.empty())
    base::fail(heddleRemoteError,
               "process {} of host {} has no adapter whose addresses are of the kind of ours",
               peer.address.pid, peer.address.host);
  peer.failover = failover_ && peer.link_count() > 1;
  if (!peer.failover)
    for (Link& link : peer.links) link.up = true;
  for (const int rail : preference_)
    for (int i = 0; i < peer.link_count(); ++i)
      if (peer.link(i).rail == rail) peer.preference.push_back(i);
  const auto names = [](const std::vector<ProcessAddress::RailAddress>& rails, const auto& used) {
    std::string text;
    for (std::size_t i = 0; i < rails.size(); ++i)
      if (!used(static_cast<int>(i))) text += (text.empty() ? "" : ", ") + rails[i].adapter;
    return text;
  };
  const auto has = [&](int Link::*end) {
    return [&peer, end](int rail) {
      return std::ranges::any_of(peer.links, [&](const Link& l) { return l.*end == rail; });
    };
  };
  const std::string here = names(address_.rails, has(&Link::rail));
  const std::string there = names(peer.address.rails, has(&Link::their_rail));
  if (!here.empty() || !there.empty())
    base::log_info("NET/OFI to process {} of host {}: {}; without a partner are {} here, {} there",
                   peer.address.pid, peer.address.host,
                   base::counted(static_cast<std::size_t>(peer.link_count()), "rail"),
                   here.empty() ? "none" : here, there.empty() ? "none" : there);
}

}  // namespace heddle::transport::fabric
