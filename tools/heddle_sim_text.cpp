#include "heddle_sim_text.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "heddle/version.h"
#include "published.hpp"
#include "table/table.hpp"

namespace heddle::tools {
namespace {

using base::counted;

// Whose times these are: a schedule may be for fewer ranks than there are.
std::string ranks_text(const topology::Machine& machine, int ranks) {
  const std::string all = fmt::format("{} x {}", counted(machine.hosts, "host"),
                                      counted(machine.ranks_per_host, "rank"));
  return ranks == machine.ranks() ? all : fmt::format("the first {} of {}", ranks, all);
}

std::string network_text(const topology::Machine& machine, int adapters) {
  if (machine.hosts == 1) return "one host: no network";
  const topology::AdapterModel network = topology::network_of(machine, adapters);
  const bool own = adapters == 0 || machine.adapters.count == 0;
  return fmt::format("{} {} a host, {:.4g} GB/s each{}", network.count,
                     own                  ? "host interface"
                     : network.count == 1 ? "adapter"
                                          : "adapters",
                     network.bandwidth * 1e-9,
                     network.staged ? ", messages staged in host memory" : "");
}

std::optional<Published> published(const topology::Machine& machine, const SimOptions& options,
                                   int adapters) {
  const bool same = machine.name == "p4d.24xlarge" && machine.hosts == 2 &&
                    sim_collective(options) == base::Collective::all_reduce &&
                    options.min_bytes == 8 && options.max_bytes == std::size_t{1} << 30 &&
                    options.factor == 2;
  for (const Published& row : published_summaries())
    if (same && row.adapters == adapters) return row;
  return std::nullopt;
}

std::string percent(double simulated, double measured) {
  return fmt::format("{:+.1f}%", (simulated / measured - 1) * 100);
}

}  // namespace

std::string sim_preamble(const topology::Machine& machine, const SimOptions& options, int ranks) {
  return fmt::format(
      "# heddle-sim version {}.{}.{}: SIMULATED, nothing here was measured\n"
      "# Collective: {}, machine {}: {}, {}\n"
      "# Software modelled: {}; {} slots of {} bytes a pipe\n"
      "# In-place is simulated as out-of-place; nothing is computed, so #wrong is N/A\n#\n",
      HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH, base::name_of(sim_collective(options)),
      machine.name, ranks_text(machine, ranks), network_text(machine, options.adapters),
      machine.software.name, machine.software.slots, machine.software.slot_bytes);
}

std::string sim_header() { return table::header(table::kSimulatedHalves, "time"); }

std::string sim_row_text(const SimRow& row) {
  const auto collective = row.chosen.shape.collective;
  const table::Half half{row.seconds, row.algbw, row.busbw, std::nullopt};
  return table::row({row.bytes, row.count, "float", base::reduces(collective) ? "sum" : "none",
                     base::has_root(collective) ? row.chosen.shape.root : -1},
                    half, half) +
         "\n";
}

std::string sim_footer(const SimOptions& options, const std::vector<SimRow>& rows) {
  std::string text =
      fmt::format("# {:<20} : {:g} (simulated)\n#\n", "Avg bus bandwidth", mean_busbw(rows));
  std::set<std::string> told;
  for (const SimRow& row : rows)
    if (told.insert(row.chosen.why).second)
      text += fmt::format("# from {} B: {} on {} ({})\n", row.bytes, row.by,
                          counted(row.chosen.shape.channels, "channel"), row.chosen.why);
  return text +
         fmt::format("#\n# Simulation of {} concluded\n", base::name_of(sim_collective(options)));
}

std::string sim_json(const topology::Machine& machine, const SimOptions& options,
                     const std::vector<SimRow>& rows) {
  nlohmann::ordered_json json = {{"simulated", true},
                                 {"heddle_version", HEDDLE_VERSION_CODE},
                                 {"collective", base::name_of(sim_collective(options))},
                                 {"machine", machine.name},
                                 {"hosts", machine.hosts},
                                 {"ranks", rows.front().chosen.shape.ranks},
                                 {"network", network_text(machine, options.adapters)},
                                 {"results", nlohmann::ordered_json::array()}};
  for (const SimRow& row : rows)
    json["results"].push_back({{"size", row.bytes},
                               {"count", row.count},
                               {"type", "float"},
                               {"time", row.seconds * 1e6},
                               {"alg_bw", row.algbw},
                               {"bus_bw", row.busbw},
                               {"algorithm", row.by},
                               {"channels", row.chosen.shape.channels},
                               {"protocol", row.chosen.protocol.name},
                               {"events", row.result.events},
                               {"moves", row.result.moves}});
  json["average_bus_bandwidth"] = mean_busbw(rows);
  return json.dump(2) + "\n";
}

std::string sim_compare(const topology::Machine& machine, const SimOptions& options) {
  std::string text = fmt::format(
      "# SIMULATED, nothing here was measured: {} on {} of {}, bus bandwidth in GB/s over the "
      "sizes "
      "{} to {}\n"
      "# adapters  simulated avg  simulated max  published avg  published max  avg off  max off\n",
      base::name_of(sim_collective(options)), counted(machine.hosts, "host"), machine.name,
      options.min_bytes, options.max_bytes);
  std::set<int> shown;
  for (const int asked : {4, 1, 0}) {
    const int adapters = std::min(asked, machine.adapters.count);
    if (adapters < asked)
      text += fmt::format("# {}: skipped; a host of {} has {}\n", counted(asked, "adapter"),
                          machine.name, machine.adapters.count);
    if (adapters == 0 && machine.host_network.count == 0) {
      if (asked == 0)
        text +=
            fmt::format("# 0 adapters: skipped; the machine file of {} has no \"host_network\"\n",
                        machine.name);
      continue;
    }
    if (!shown.insert(adapters).second) continue;
    std::vector<SimRow> rows;
    for (const std::size_t bytes : sim_sizes(options))
      rows.push_back(sim_row(machine, options, adapters, bytes));
    const double mean = mean_busbw(rows);
    const double most = max_busbw(rows);
    text += fmt::format("{:>10}  {:>13.2f}  {:>13.2f}", adapters, mean, most);
    if (const auto known = published(machine, options, adapters))
      text += fmt::format("  {:>13.2f}  {:>13.2f}  {:>7}  {:>7}\n", known->mean, known->max,
                          percent(mean, known->mean), percent(most, known->max));
    else
      text += fmt::format("  {:>13}  {:>13}  {:>7}  {:>7}\n", "-", "-", "-", "-");
  }
  return text;
}

}  // namespace heddle::tools
