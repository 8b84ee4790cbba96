#include "topology/machine.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "base/error.hpp"
#include "base/types.hpp"
#include "topology/adapter_fields.hpp"

namespace heddle::topology {
namespace {

[[noreturn]] void refuse(std::string_view field, double value, std::string_view allowed) {
  base::fail(heddleInvalidArgument, "{}: {} is not allowed; {}", field, value, allowed);
}

// Not "value < least", which a value that is no number passes.
void at_least(std::string_view field, double value, double least) {
  if (!(value >= least) || value > 1e15)
    refuse(field, value, fmt::format("allowed: {} and above", least));
}
void above_zero(std::string_view field, double value) {
  if (!(value > 0) || value > 1e18) refuse(field, value, "allowed: above 0");
}

std::string limit_text(std::size_t up_to_bytes) {
  return up_to_bytes == kAnyBytes ? "has no limit" : fmt::format("goes up to {}", up_to_bytes);
}

void check_channels(const std::string& field, int channels, int most) {
  if (channels < 1 || channels > most)
    refuse(field, channels, fmt::format("allowed: 1 to {}", most));
}

void check_adapters(std::string_view name, const AdapterModel& a) {
  const auto check = [&](const AdapterField& field, double value) {
    const std::string path = fmt::format("{}.{}", name, field.name);
    if (field.above)
      above_zero(path, value);
    else
      at_least(path, value, field.least);
  };
  for (const AdapterField& field : adapter_fields()) {
    if (const auto* number = std::get_if<double AdapterModel::*>(&field.member))
      check(field, a.**number);
    if (const auto* whole = std::get_if<int AdapterModel::*>(&field.member))
      check(field, a.**whole);
    if (a.count == 0) return;  // the first; the others do not matter then
  }
}

void check_tiers(const std::vector<SwitchTier>& tiers) {
  int below = 1;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto field = [&](std::string_view member) {
      return fmt::format("tiers[{}].{}", i, member);
    };
    at_least(field("hosts"), tiers[i].hosts, 1);
    if (tiers[i].hosts % below != 0)
      refuse(field("hosts"), tiers[i].hosts, fmt::format("allowed: multiples of {}", below));
    below = tiers[i].hosts;
    at_least(field("oversubscription"), tiers[i].oversubscription, 1);
    at_least(field("latency_us"), tiers[i].latency, 0);
  }
}

// A world's row is taken for every size up to its own, so that a smaller one after it never is.
void check_order(const std::vector<Tuned>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t before = 0; before < i; ++before) {
      const Tuned &row = rows[i], &other = rows[before];
      if (row.hosts != other.hosts || row.ranks != other.ranks ||
          base::collective_named(row.collective) != base::collective_named(other.collective) ||
          row.up_to_bytes > other.up_to_bytes)
        continue;
      base::fail(
          heddleInvalidArgument,
          "software.tuned[{}].up_to_bytes: {}, but row {} is of the same collective, hosts and "
          "ranks and {}; sort them by size",
          i, limit_text(row.up_to_bytes), before, limit_text(other.up_to_bytes));
    }
}

void check_software(const SoftwareModel& software) {
  at_least("software.slots", software.slots, 1);
  if (software.slot_bytes < kLeastMessageBytes || software.slot_bytes > (std::size_t{1} << 30))
    refuse("software.slot_bytes", static_cast<double>(software.slot_bytes),
           "allowed: 64 to 1073741824");
  at_least("software.start_us", software.start_time, 0);
  for (std::size_t i = 0; i < software.protocols.size(); ++i) {
    const Protocol& protocol = software.protocols[i];
    const auto field = [&](std::string_view member) {
      return fmt::format("software.protocols[{}].{}", i, member);
    };
    above_zero(field("wire_efficiency"), protocol.wire_efficiency);
    if (protocol.wire_efficiency > 1)
      refuse(field("wire_efficiency"), protocol.wire_efficiency, "allowed: above 0, up to 1");
    at_least(field("move_us"), protocol.move_time, 0);
    at_least(field("network_us"), protocol.network_time, 0);
  }
  for (std::size_t i = 0; i < software.tuned.size(); ++i) {
    const Tuned& tuned = software.tuned[i];
    const auto field = [&](std::string_view member) {
      return fmt::format("software.tuned[{}].{}", i, member);
    };
    if (!base::collective_named(tuned.collective))
      base::fail(heddleInvalidArgument, "{}: \"{}\" is not known; allowed are {}",
                 field("collective"), tuned.collective, base::known_collectives());
    at_least(field("hosts"), tuned.hosts, 1);
    at_least(field("ranks"), tuned.ranks, 1);
    check_channels(field("channels"), tuned.channels, kMostTunedChannels);
    if (tuned.message_bytes != 0 && tuned.message_bytes < kLeastMessageBytes)
      refuse(field("chunk_bytes"), static_cast<double>(tuned.message_bytes),
             fmt::format("allowed: 0 (a slot), or {} and above", kLeastMessageBytes));
  }
  check_order(software.tuned);
  for (std::size_t i = 0; i < software.choices.size(); ++i) {
    const Choice& choice = software.choices[i];
    check_channels(fmt::format("software.choices[{}].channels", i), choice.channels,
                   kMostChosenChannels);
    const auto named = [&](const Protocol& p) { return p.name == choice.protocol; };
    if (!choice.protocol.empty() &&
        std::none_of(software.protocols.begin(), software.protocols.end(), named))
      base::fail(heddleInvalidArgument,
                 "software.choices[{}].protocol: \"{}\" is not among software.protocols", i,
                 choice.protocol);
  }
  if (!software.choices.empty() && software.choices.back().up_to_bytes != kAnyBytes)
    base::fail(heddleInvalidArgument,
               "software.choices[{}].up_to_bytes: the last choice must be for all larger messages; "
               "leave the field out",
               software.choices.size() - 1);
}

}  // namespace

AdapterModel network_of(const Machine& machine, int adapters) {
  if (adapters < -1 || adapters > machine.adapters.count)
    base::fail(heddleInvalidArgument, "adapters: {} of {} asked for; a host of it has {}", adapters,
               machine.name, machine.adapters.count);
  if (adapters != 0 && machine.adapters.count > 0) {
    AdapterModel network = machine.adapters;
    if (adapters > 0) network.count = adapters;
    network.staged =
        network.direct_from == 0 ? network.staged : network.count < network.direct_from;
    return network;
  }
  if (machine.host_network.count == 0)
    base::fail(heddleInvalidArgument,
               "{} has no network without adapters: the machine file has no \"host_network\"",
               machine.name);
  return machine.host_network;
}

void check(const Machine& machine) {
  at_least("hosts", machine.hosts, 1);
  at_least("ranks_per_host", machine.ranks_per_host, 1);
  at_least("cores", machine.cores, 0);
  if (static_cast<double>(machine.hosts) * machine.ranks_per_host > 1 << 24)
    refuse("hosts", machine.hosts, "allowed: up to 16777216 ranks in all");
  above_zero("rank.copy_bandwidth_gb_per_s", machine.rank.copy_bandwidth);
  above_zero("rank.reduce_bandwidth_gb_per_s", machine.rank.reduce_bandwidth);
  at_least("rank.lane_bandwidth_gb_per_s", machine.rank.lane_bandwidth, 0);
  at_least("rank.move_us", machine.rank.move_time, 0);
  above_zero("inner.bandwidth_gb_per_s", machine.inner.bandwidth);
  at_least("inner.latency_us", machine.inner.latency, 0);
  at_least("inner.message_us", machine.inner.message_time, 0);
  at_least("pci.switches", machine.pci.switches, 0);
  if (machine.pci.switches > 0) above_zero("pci.bandwidth_gb_per_s", machine.pci.bandwidth);
  check_adapters("adapters", machine.adapters);
  check_adapters("host_network", machine.host_network);
  if (machine.hosts > 1 && machine.adapters.count == 0 && machine.host_network.count == 0)
    base::fail(
        heddleInvalidArgument,
        "adapters.count: 0 with {} hosts, and no \"host_network\"; hosts need an adapter to reach "
        "each other",
        machine.hosts);
  if ((machine.adapters.staged || machine.adapters.direct_from > 0 ||
       machine.host_network.staged) &&
      machine.pci.switches == 0)
    base::fail(heddleInvalidArgument,
               "pci.switches: 0, but messages are staged in host memory; say how they get there");
  check_tiers(machine.tiers);
  check_software(machine.software);
}

}  // namespace heddle::topology
