#include "simulator/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace heddle::simulator {
namespace {

// Stages of a flight.
constexpr int kStage = 0;    // into the sender's host memory
constexpr int kSend = 1;     // out of the adapter
constexpr int kUp = 2;       // up the tiers
constexpr int kDown = 3;     // and down
constexpr int kReceive = 4;  // into the adapter
constexpr int kUnstage = 5;  // out of the receiver's host memory

// A server takes up a message at `now` at the earliest.
Time take(Server& server, Time now, Time busy) {
  const Time begin = std::max(now, server.free);
  server.free = begin + busy;
  return begin;
}

Server& earliest(std::vector<Server>& servers) {
  return *std::min_element(servers.begin(), servers.end(),
                           [](const Server& a, const Server& b) { return a.free < b.free; });
}

// Local ranks of a host such that the first and the last are beside the adapter's PCI switch, so
// that a chain enters and leaves the host there.
std::vector<int> order_around(int first, int beside, int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + first, order.end());
  if (beside > 1) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

}  // namespace

Network::Network(const NetworkOptions& options)
    : machine_(options.machine),
      protocol_(options.protocol),
      ranks_per_host_(options.machine.ranks_per_host),
      hosts_((options.ranks + ranks_per_host_ - 1) / ranks_per_host_),
      inner_rate_(machine_.inner.bandwidth),
      pci_rate_(machine_.pci.bandwidth),
      inner_latency_(from_seconds(machine_.inner.latency)),
      inner_message_(from_seconds(machine_.inner.message_time)) {
  const bool bus = machine_.inner.kind == topology::InnerLink::Kind::bus;
  const auto hosts = static_cast<std::size_t>(hosts_);
  const auto all = hosts * static_cast<std::size_t>(ranks_per_host_);
  port_out_.resize(bus ? hosts : all);
  port_in_.resize(bus ? 0 : all);
  if (hosts_ > 1) model_ = topology::network_of(machine_, options.adapters);
  adapter_send_rate_ = Rate(model_.bandwidth / model_.send_engines);
  adapter_receive_rate_ = Rate(model_.bandwidth / model_.receive_engines);
  stream_rate_ = Rate(model_.stream_bandwidth);
  latency_ = from_seconds(model_.latency);
  message_time_ = from_seconds(model_.message_time);
  post_time_ = from_seconds(model_.post_time);
  rendezvous_ = from_seconds(model_.rendezvous_time);
  extra_latency_ = from_seconds(protocol_.network_time);
  if (!model_.staged && protocol_.direct) extra_latency_ += from_seconds(model_.direct_time);
  pci_.resize(hosts * static_cast<std::size_t>(machine_.pci.switches));
  engines_.resize(hosts * static_cast<std::size_t>(model_.count));
  for (Engines& engines : engines_) {
    engines.send.resize(static_cast<std::size_t>(model_.send_engines));
    engines.receive.resize(static_cast<std::size_t>(model_.receive_engines));
  }
  double from_below = model_.count * model_.bandwidth;
  int below = 1;
  for (const topology::SwitchTier& tier : machine_.tiers) {
    from_below *= static_cast<double>(tier.hosts) / below / tier.oversubscription;
    below = tier.hosts;
    const auto switches = static_cast<std::size_t>((hosts_ + tier.hosts - 1) / tier.hosts);
    tiers_.push_back({tier.hosts, from_seconds(tier.latency), Rate(from_below),
                      std::vector<Server>(switches), std::vector<Server>(switches)});
  }
  beside_.resize(static_cast<std::size_t>(machine_.pci.switches));
  if (machine_.pci.switches > 0)
    for (int a = 0; a < model_.count; ++a)
      beside_[static_cast<std::size_t>(pci_switch_of_adapter(a))].push_back(a);
  if (machine_.software.rail_per_channel)
    for (int a = 0; a < model_.count; ++a) {
      const int groups = std::max(machine_.pci.switches, 1);
      const int beside = std::max(ranks_per_host_ / groups, 1);
      const int first = machine_.pci.switches > 0 ? pci_switch_of_adapter(a) * beside : 0;
      order_.push_back(order_around(first % ranks_per_host_, beside, ranks_per_host_));
    }
}

Place Network::place_of(int rank, int channel) const {
  const int local = rank % ranks_per_host_;
  if (order_.empty()) return {rank / ranks_per_host_, local};
  const auto& order = order_[static_cast<std::size_t>(channel) % order_.size()];
  return {rank / ranks_per_host_, order[static_cast<std::size_t>(local)]};
}

Time Network::write_inside(int from, int to, int channel, double wire_bytes, Time now) {
  const Time busy = inner_message_ + inner_rate_.of(wire_bytes);
  const Place a = place_of(from, channel);
  if (machine_.inner.kind == topology::InnerLink::Kind::bus)
    return take(port_out_[static_cast<std::size_t>(a.host)], now, busy) + busy;
  const Place b = place_of(to, channel);
  const auto port = [&](const Place& place) {
    return static_cast<std::size_t>(place.host) * static_cast<std::size_t>(ranks_per_host_) +
           static_cast<std::size_t>(place.local);
  };
  const Time begin = take(port_out_[port(a)], now, busy);
  return take(port_in_[port(b)], begin, busy) + busy;
}

int Network::stripes(double wire_bytes) const {
  if (machine_.software.rail_per_channel) return 1;
  return wire_bytes > static_cast<double>(machine_.software.stripe_bytes) ? model_.count : 1;
}

Network::Flight Network::flight(int from, int to, int channel, double message_bytes,
                                int stripe) const {
  // Whole messages of several pipes spread over the adapters as those of several ranks do.
  const int adapter = machine_.software.rail_per_channel
                          ? adapter_beside(place_of(from, channel), channel)
                          : (stripe + from % ranks_per_host_ + channel) % model_.count;
  Flight flight{.from = from,
                .to = to,
                .channel = channel,
                .adapter = adapter,
                .bytes = message_bytes / stripes(message_bytes),
                .asks = message_bytes > static_cast<double>(model_.eager_bytes)};
  flight.stage = model_.staged ? kStage : kSend;
  return flight;
}

int Network::adapter_beside(const Place& place, int channel) const {
  if (!beside_.empty()) {
    const auto& near = beside_[static_cast<std::size_t>(pci_switch_of_rank(place.local))];
    if (!near.empty()) return near[static_cast<std::size_t>(channel) % near.size()];
  }
  return channel % model_.count;
}

int Network::pci_switch_of_rank(int local) const {
  return local * machine_.pci.switches / ranks_per_host_;
}

int Network::pci_switch_of_adapter(int adapter) const {
  const int all = std::max(machine_.adapters.count, 1);
  return adapter * machine_.pci.switches / std::max(all, model_.count);
}

Network::Pci& Network::pci(int host, int index) {
  return pci_[static_cast<std::size_t>(host) * static_cast<std::size_t>(machine_.pci.switches) +
              static_cast<std::size_t>(index)];
}

bool Network::crosses(const Place& place, int adapter) const {
  if (machine_.pci.switches == 0) return false;
  return model_.staged || pci_switch_of_rank(place.local) != pci_switch_of_adapter(adapter);
}

Network::Engines& Network::engines(int host, int adapter) {
  return engines_[static_cast<std::size_t>(host) * static_cast<std::size_t>(model_.count) +
                  static_cast<std::size_t>(adapter)];
}

int Network::tiers_between(int host_a, int host_b) const {
  int tiers = 0;
  for (const Tier& tier : tiers_) {
    if (host_a / tier.hosts == host_b / tier.hosts) break;
    ++tiers;
  }
  return tiers;
}

Network::Step Network::advance(Flight& flight, Time now) {
  switch (flight.stage) {
    case kStage: {
      const Place place = place_of(flight.from, flight.channel);
      const Time busy = pci_rate_.of(flight.bytes);
      const Time begin = take(pci(place.host, pci_switch_of_rank(place.local)).up, now, busy);
      flight.stage = kSend;
      return {false, begin + busy};
    }
    case kSend: return send(flight, now);
    case kUp: return up(flight, now);
    case kDown: return down(flight, now);
    case kReceive: return receive(flight, now);
    default: {
      const Place place = place_of(flight.to, flight.channel);
      const Time busy = pci_rate_.of(flight.bytes);
      const Time begin = take(pci(place.host, pci_switch_of_rank(place.local)).down, now, busy);
      return {true, arrival(flight, begin + busy)};
    }
  }
}

Network::Step Network::send(Flight& flight, Time now) {
  const Place place = place_of(flight.from, flight.channel);
  Time begin = now;
  Time longest = 0;
  if (crosses(place, flight.adapter)) {
    longest = pci_rate_.of(flight.bytes);
    if (!model_.staged)
      begin = take(pci(place.host, pci_switch_of_rank(place.local)).up, begin, longest);
    begin = take(pci(place.host, pci_switch_of_adapter(flight.adapter)).down, begin, longest);
  }
  if (flight.stream != nullptr) {
    const Time busy = stream_rate_.of(flight.bytes);
    begin = take(*flight.stream, begin, busy);
    longest = std::max(longest, busy);
  }
  const Time busy = message_time_ + adapter_send_rate_.of(flight.bytes);
  begin = take(earliest(engines(place.host, flight.adapter).send), begin, busy);
  flight.tail = begin + std::max(longest, busy) + latency_;
  flight.tier = 0;
  const int tiers = tiers_between(flight.from / ranks_per_host_, flight.to / ranks_per_host_);
  flight.stage = tiers > 0 ? kUp : kReceive;
  return {.arrived = false,
          .at = begin + message_time_ + latency_,
          .rail = true,
          .sends = true,
          .rail_host = place.host,
          .rail_begin = begin,
          .rail_end = begin + busy};
}

Network::Step Network::up(Flight& flight, Time now) {
  const int host = flight.from / ranks_per_host_;
  Tier& tier = tiers_[static_cast<std::size_t>(flight.tier)];
  const Time busy = tier.rate.of(flight.bytes);
  const Time begin = take(tier.up[static_cast<std::size_t>(host / tier.hosts)], now, busy);
  flight.tail = std::max(flight.tail, begin + busy) + tier.latency;
  if (++flight.tier == tiers_between(host, flight.to / ranks_per_host_)) {
    --flight.tier;
    flight.stage = kDown;
  }
  return {false, begin + tier.latency};
}

Network::Step Network::down(Flight& flight, Time now) {
  const int host = flight.to / ranks_per_host_;
  Tier& tier = tiers_[static_cast<std::size_t>(flight.tier)];
  const Time busy = tier.rate.of(flight.bytes);
  const Time begin = take(tier.down[static_cast<std::size_t>(host / tier.hosts)], now, busy);
  flight.tail = std::max(flight.tail, begin + busy);
  if (--flight.tier < 0) flight.stage = kReceive;
  return {false, begin};
}

Network::Step Network::receive(Flight& flight, Time now) {
  const Place place = place_of(flight.to, flight.channel);
  const Time busy = message_time_ + adapter_receive_rate_.of(flight.bytes);
  Time begin = take(earliest(engines(place.host, flight.adapter).receive), now, busy);
  Time longest = busy;
  if (crosses(place, flight.adapter)) {
    const Time across = pci_rate_.of(flight.bytes);
    begin = take(pci(place.host, pci_switch_of_adapter(flight.adapter)).up, begin, across);
    if (!model_.staged)
      begin = take(pci(place.host, pci_switch_of_rank(place.local)).down, begin, across);
    longest = std::max(longest, across);
  }
  flight.tail = std::max(flight.tail, begin + longest);
  const bool here = !model_.staged || machine_.pci.switches == 0;
  flight.stage = kUnstage;
  return {.arrived = here,
          .at = here ? arrival(flight, flight.tail) : flight.tail,
          .rail = true,
          .sends = false,
          .rail_host = place.host,
          .rail_begin = begin,
          .rail_end = begin + busy};
}

Time Network::arrival(const Flight& flight, Time at) const {
  return at + extra_latency_ + (flight.asks ? rendezvous_ : 0);
}

}  // namespace heddle::simulator
