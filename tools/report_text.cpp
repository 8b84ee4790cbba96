#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "collectives/select.hpp"
#include "columns.hpp"
#include "device/reduce.hpp"
#include "report.hpp"

namespace heddle::tools {
namespace {

using base::bytes_text;
using base::counted;

std::string speed_text(double gigabits) {
  return gigabits > 0 ? fmt::format("{:g} Gb/s", gigabits) : "speed unknown";
}

std::string numa_text(int node) {
  return node < 0 ? "NUMA node unknown" : fmt::format("NUMA node {}", node);
}

std::string place_text(const std::string& pci, int numa_node) {
  return pci.empty() ? "no PCI device" : fmt::format("{}, {}", pci, numa_text(numa_node));
}

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string caches_text(const topology::CacheSizes& caches) {
  std::vector<std::string> words;
  if (caches.l1d > 0) words.push_back("L1d " + bytes_text(caches.l1d));
  if (caches.l2 > 0) words.push_back("L2 " + bytes_text(caches.l2));
  if (caches.l3 > 0) words.push_back("L3 " + bytes_text(caches.l3));
  return words.empty() ? "not known" : join(words);
}

std::string machine_section(const Report& report) {
  const auto& machine = report.machine;
  Columns lines;
  lines.add({"host", fmt::format("{} (id {})", report.host.name, report.host.id)});
  lines.add({"processor", machine.cpu_model.empty() ? "not known" : machine.cpu_model});
  lines.add({"counts", join({counted(machine.packages, "package"), counted(machine.cores, "core"),
                             counted(machine.hardware_threads, "hardware thread"),
                             counted(machine.numa_nodes, "NUMA node")})});
  lines.add({"memory", bytes_text(machine.memory_bytes)});
  lines.add({"caches", caches_text(report.caches)});
  lines.add({"allowed CPUs",
             fmt::format("{} ({}), enough to run {} at once", topology::to_text(report.place.cpus),
                         report.place.numa_node < 0 ? "not on one NUMA node"
                                                    : "on " + numa_text(report.place.numa_node),
                         counted(report.usable_cpus, "thread"))});
  lines.add({"reductions", device::reduce_target()});
  lines.add({"shared memory",
             report.settings.shm ? "on, between ranks of this host" : "off (HEDDLE_SHM=0)"});
  return "Machine\n" + lines.text();
}

std::string interfaces_section(const Report& report) {
  Columns lines;
  for (const auto& [interface, unused_because] : report.interfaces) {
    std::vector<std::string> addresses;
    for (const auto& address : interface.addresses) addresses.push_back(address.text);
    if (unused_because.empty())
      lines.add({interface.name, "used",
                 speed_text(static_cast<double>(interface.speed_mbit) / 1e3),
                 place_text(interface.pci, interface.numa_node), join(addresses)});
    else
      lines.add({interface.name, "not used: " + unused_because});
  }
  if (lines.empty()) lines.add({"none"});
  return "Network interfaces\n" + lines.text() + "Addresses that ranks advertise\n  " +
         (report.advertised.empty() ? "none" : join(report.advertised)) + "\n";
}

std::string standing(const Report& report, const transport::fabric::ProviderReport& provider) {
  if (!provider.usable) return "not usable: " + provider.why_not;
  const auto is_emulated = [](const auto& adapter) { return adapter.emulated; };
  const char* const mark = std::ranges::any_of(provider.adapters, is_emulated) ? ", EMULATED" : "";
  if (report.chosen && report.chosen->name == provider.name) return fmt::format("chosen{}", mark);
  return fmt::format("usable{}{}", provider.automatic ? "" : " when HEDDLE_PROVIDER names it",
                     mark);
}

// Of the provider that is chosen.
bool takes_device_memory(const Report& report) {
  return std::ranges::any_of(report.providers, [&](const auto& provider) {
    return provider.name == report.chosen->name && provider.device_memory;
  });
}

std::string providers_section(const Report& report) {
  Columns lines;
  for (const auto& provider : report.providers)
    lines.add({provider.name, provider.version, standing(report, provider)});
  if (lines.empty()) lines.add({"none"});
  return fmt::format("Providers of libfabric {}, by preference (HEDDLE_PROVIDER={})\n{}",
                     transport::fabric::libfabric_version(), report.settings.provider,
                     lines.text());
}

std::string choice_section(const Report& report) {
  if (!report.chosen) return "Between hosts a job would use\n  nothing: it would fail, see below\n";
  Columns lines;
  lines.add({"provider", report.chosen->name});
  lines.add({"protocol", report.chosen->protocol});
  lines.add({"transfers", report.chosen->rma ? "RDMA write with immediate data" : "messages"});
  lines.add({"device memory", takes_device_memory(report) ? "yes (FI_HMEM)" : "no"});
  for (const auto& one : report.chosen->adapters) {
    const auto& adapter = one.adapter;
    const bool is_interface = adapter.interface_name == adapter.name;
    std::vector<std::string> words = {is_interface ? "interface " + adapter.name : adapter.name,
                                      speed_text(adapter.gigabits),
                                      place_text(adapter.pci, adapter.numa_node)};
    if (adapter.emulated) words.emplace_back("EMULATED");
    lines.add({"adapter", join(words)});
  }
  return "Between hosts a job would use\n" + lines.text();
}

std::string settings_section(const Report& report) {
  Columns lines;
  const auto table = base::settings_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    if (report.settings.sources[i] != "default")
      lines.add({std::string(table[i].name), table[i].show(report.settings),
                 "from the " + std::string(report.settings.sources[i])});
  if (lines.empty()) lines.add({"none"});
  return "Settings that are not default\n" + lines.text();
}

std::string algorithms_section(const Report& report) {
  Columns lines;
  lines.add({"collective", "reach", "ranks", "up to", "algorithm", "channels"});
  for (const auto& row : collectives::selection_table()) {
    const bool all_ranks = row.max_ranks == std::numeric_limits<int>::max();
    const bool all_sizes = row.up_to_bytes == std::numeric_limits<std::size_t>::max();
    lines.add({std::string(base::name_of(row.collective)),
               std::string(collectives::name_of(row.place)),
               all_ranks ? fmt::format("{}+", row.min_ranks)
                         : fmt::format("{}-{}", row.min_ranks, row.max_ranks),
               all_sizes ? "any size" : bytes_text(row.up_to_bytes), std::string(row.algorithm),
               std::to_string(row.channels) + (row.channel_per_rail ? ", or one a rail" : "")});
  }
  return fmt::format("Algorithms, the first row that fits (HEDDLE_ALGO={})\n{}",
                     report.settings.algo, lines.text());
}

std::string list_section(std::string_view title, const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += "  " + line + "\n";
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

}  // namespace

std::string text_of(const Report& report) {
  return fmt::format("heddle {}\n\n{}\n{}\n{}\n{}\n{}\n{}{}{}", version_text(),
                     machine_section(report), interfaces_section(report), providers_section(report),
                     choice_section(report), settings_section(report), algorithms_section(report),
                     list_section("Warnings", report.warnings),
                     list_section("A job here would fail", report.problems));
}

}  // namespace heddle::tools
