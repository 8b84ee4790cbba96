#include <limits>
#include <nlohmann/json.hpp>

#include "collectives/select.hpp"
#include "device/reduce.hpp"
#include "report.hpp"

namespace heddle::tools {
namespace {

using Json = nlohmann::ordered_json;

// Unknown is null, never a number that looks like one.
template <typename Number>
Json known(Number value, bool is_known) {
  return is_known ? Json(value) : Json(nullptr);
}

Json machine_json(const Report& report) {
  const auto& machine = report.machine;
  const auto& caches = report.caches;
  return {{"processor", machine.cpu_model},
          {"packages", machine.packages},
          {"cores", machine.cores},
          {"hardware_threads", machine.hardware_threads},
          {"numa_nodes", machine.numa_nodes},
          {"memory_bytes", machine.memory_bytes},
          {"l1d_bytes", known(caches.l1d, caches.l1d > 0)},
          {"l2_bytes", known(caches.l2, caches.l2 > 0)},
          {"l3_bytes", known(caches.l3, caches.l3 > 0)},
          {"reductions", device::reduce_target()}};
}

Json cpus_json(const Report& report) {
  return {{"allowed", topology::to_text(report.place.cpus)},
          {"usable", report.usable_cpus},
          {"numa_node", known(report.place.numa_node, report.place.numa_node >= 0)}};
}

Json interface_json(const topology::JudgedInterface& judged) {
  const auto& interface = judged.interface;
  Json addresses = Json::array();
  for (const auto& address : interface.addresses) addresses.push_back(address.text);
  return {{"name", interface.name},
          {"used", judged.unused_because.empty()},
          {"unused_because", judged.unused_because},
          {"up", interface.up},
          {"loopback", interface.loopback},
          {"bridge_like", interface.bridge_like},
          {"addresses", std::move(addresses)},
          {"pci", known(interface.pci, !interface.pci.empty())},
          {"numa_node", known(interface.numa_node, interface.numa_node >= 0)},
          {"speed_mbit", known(interface.speed_mbit, interface.speed_mbit > 0)}};
}

Json adapter_json(const transport::fabric::Adapter& adapter) {
  return {{"name", adapter.name},
          {"interface", known(adapter.interface_name, !adapter.interface_name.empty())},
          {"loopback", adapter.loopback},
          {"emulated", adapter.emulated},
          {"pci", known(adapter.pci, !adapter.pci.empty())},
          {"numa_node", known(adapter.numa_node, adapter.numa_node >= 0)},
          {"speed_gbit", known(adapter.gigabits, adapter.gigabits > 0)}};
}

Json provider_json(const transport::fabric::ProviderReport& provider) {
  Json adapters = Json::array();
  for (const auto& adapter : provider.adapters) adapters.push_back(adapter_json(adapter));
  return {{"name", provider.name},
          {"version", provider.version},
          {"usable", provider.usable},
          {"automatic", provider.automatic},
          {"unusable_because", provider.why_not},
          {"device_memory", provider.device_memory},
          {"adapters", std::move(adapters)}};
}

Json choice_json(const std::optional<transport::fabric::ChosenProvider>& chosen) {
  if (!chosen) return nullptr;
  Json adapters = Json::array();
  for (const auto& one : chosen->adapters) adapters.push_back(adapter_json(one.adapter));
  return {{"provider", chosen->name},
          {"protocol", chosen->protocol},
          {"rma", chosen->rma},
          {"adapters", std::move(adapters)}};
}

Json settings_json(const base::Settings& settings) {
  Json rows = Json::array();
  const auto table = base::settings_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    rows.push_back({{"name", table[i].name},
                    {"value", table[i].show(settings)},
                    {"source", settings.sources[i]}});
  return rows;
}

Json algorithms_json() {
  Json rows = Json::array();
  for (const auto& row : collectives::selection_table())
    rows.push_back(
        {{"collective", base::name_of(row.collective)},
         {"place", collectives::name_of(row.place)},
         {"channel_per_rail", row.channel_per_rail},
         {"min_ranks", row.min_ranks},
         {"max_ranks", known(row.max_ranks, row.max_ranks != std::numeric_limits<int>::max())},
         {"up_to_bytes",
          known(row.up_to_bytes, row.up_to_bytes != std::numeric_limits<std::size_t>::max())},
         {"algorithm", row.algorithm},
         {"channels", row.channels}});
  return rows;
}

}  // namespace

std::string json_of(const Report& report) {
  Json interfaces = Json::array();
  for (const auto& judged : report.interfaces) interfaces.push_back(interface_json(judged));
  Json providers = Json::array();
  for (const auto& provider : report.providers) providers.push_back(provider_json(provider));
  const Json all = {{"version", version_text()},
                    {"libfabric", transport::fabric::libfabric_version()},
                    {"host", {{"name", report.host.name}, {"id", report.host.id}}},
                    {"machine", machine_json(report)},
                    {"cpus", cpus_json(report)},
                    {"shared_memory", report.settings.shm},
                    {"interfaces", std::move(interfaces)},
                    {"advertised", report.advertised},
                    {"providers", std::move(providers)},
                    {"chosen", choice_json(report.chosen)},
                    {"settings", settings_json(report.settings)},
                    {"algorithms", algorithms_json()},
                    {"warnings", report.warnings},
                    {"problems", report.problems}};
  // Bytes of the environment need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::tools
