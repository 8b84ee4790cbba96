#include "heddle_sim_run.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "collectives/extent.hpp"
#include "collectives/names.hpp"
#include "collectives/schedule_json.hpp"
#include "table/sizes.hpp"
#include "tuner/machine_file.hpp"

namespace heddle::tools {

base::Collective sim_collective(const SimOptions& options) {
  return collectives::required_collective(options.collective, "collective");
}

topology::Machine sim_machine(const SimOptions& options) {
  topology::Machine machine = tuner::load_machine(options.machine_name);
  if (options.hosts > 0) machine.hosts = options.hosts;
  topology::check(machine);
  const double ranks = 1.0 * machine.hosts * machine.ranks_per_host;
  if (ranks > kMostRanks)
    base::fail(heddleInvalidArgument,
               "hosts: {} hosts of {} ranks are {:.0f} ranks; allowed are up to {}", machine.hosts,
               machine.ranks_per_host, ranks, kMostRanks);
  return machine;
}

namespace {

void check_extent(const simulator::Chosen& chosen) {
  const collectives::Extent extent = collectives::extent_of(*chosen.algorithm, chosen.shape);
  const auto check = [&](const char* what, double number, double most) {
    if (number <= most) return;
    base::fail(heddleInvalidArgument,
               "{} among {} ranks on {} has about {:.1e} {}; allowed are up to {:.0e}: take fewer "
               "--hosts or --channels, or another --algorithm",
               chosen.algorithm->name, chosen.shape.ranks,
               base::counted(static_cast<std::size_t>(chosen.shape.channels), "channel"), number,
               what, most);
  };
  check("moves", extent.moves, kMostMovesOfRound);
  check("ends of pipes in moves", extent.ends, kMostEndsOfRound);
  check("pipes", extent.pipes, kMostPipes);
}

constexpr std::size_t kElement = 4;  // float

SimRow sized_row(base::Collective collective, int ranks, std::size_t bytes) {
  const auto blocks = static_cast<std::size_t>(
      std::max(base::input_blocks(collective, ranks), base::output_blocks(collective, ranks)));
  SimRow row{};
  row.count = table::part_count(bytes, kElement, blocks);
  row.bytes = row.count * blocks * kElement;
  return row;
}

void run(const simulator::Job& job, simulator::Trace* trace, SimRow& row) {
  row.result = simulator::simulate(job, trace);
  row.seconds = row.result.seconds;
  if (row.seconds > 0) row.algbw = static_cast<double>(row.bytes) / row.seconds * 1e-9;
  row.busbw = row.algbw * bus_factor(row.chosen.shape.collective, job.ranks);
}

}  // namespace

std::optional<collectives::Schedule> sim_schedule(const topology::Machine& machine,
                                                  const SimOptions& options) {
  if (options.schedule.empty()) return std::nullopt;
  auto schedule = collectives::load_schedule(options.schedule, machine.software.slots);
  const auto collective = sim_collective(options);
  if (schedule.shape.collective != collective)
    base::fail(heddleInvalidArgument, "--schedule {}: is for {}, and {} is asked for",
               options.schedule, base::name_of(schedule.shape.collective),
               base::name_of(collective));
  if (schedule.shape.ranks > machine.ranks())
    base::fail(heddleInvalidArgument,
               "--schedule {}: is for {} ranks; {} of {} ranks has {}: take more --hosts",
               options.schedule, schedule.shape.ranks, base::counted(machine.hosts, "host"),
               machine.ranks_per_host, machine.ranks());
  return schedule;
}

double bus_factor(base::Collective collective, int ranks) {
  switch (collective) {
    case base::Collective::all_reduce: return table::moved_twice(ranks);
    case base::Collective::broadcast:
    case base::Collective::reduce: return table::all_moved(ranks);
    default: return table::moved_once(ranks);
  }
}

SimRow sim_row(const topology::Machine& machine, const SimOptions& options, int adapters,
               std::size_t bytes, simulator::Trace* trace) {
  const auto collective = sim_collective(options);
  const int ranks = machine.ranks();
  SimRow row = sized_row(collective, ranks, bytes);
  row.chosen = simulator::choose(machine, {.collective = collective,
                                           .bytes = bytes,
                                           .ranks = ranks,
                                           .adapters = adapters,
                                           .algorithm = options.algorithm,
                                           .channels = options.channels});
  check_extent(row.chosen);
  row.by = row.chosen.algorithm->name;
  simulator::Job job =
      simulator::job_of(machine, *row.chosen.algorithm, row.chosen.shape, row.count, kElement);
  job.adapters = adapters;
  job.protocol = row.chosen.protocol;
  run(job, trace, row);
  return row;
}

SimRow sim_row(const topology::Machine& machine, const SimOptions& options,
               const collectives::Schedule& schedule, std::size_t bytes, simulator::Trace* trace) {
  SimRow row = sized_row(schedule.shape.collective, schedule.shape.ranks, bytes);
  row.chosen.shape = schedule.shape;
  row.chosen.why = "proved; no algorithm of the library";
  row.by = options.schedule;
  const simulator::Job job{.machine = machine,
                           .adapters = options.adapters,
                           .ranks = schedule.shape.ranks,
                           .channels = schedule.shape.channels,
                           .pieces = schedule.pieces,
                           .parts = schedule.parts,
                           .lanes =
                               [&schedule](int rank, int channel) {
                                 return schedule.lanes[static_cast<std::size_t>(rank)]
                                                      [static_cast<std::size_t>(channel)];
                               },
                           .count = row.count,
                           .element_bytes = kElement};
  run(job, trace, row);
  return row;
}

std::vector<std::size_t> sim_sizes(const SimOptions& options) {
  if (options.min_bytes > options.max_bytes)
    base::fail(heddleInvalidArgument, "-b {} is larger than -e {}; allowed is up to it",
               options.min_bytes, options.max_bytes);
  return table::size_steps(options.min_bytes, options.max_bytes, 0,
                           static_cast<std::size_t>(options.factor));
}

double mean_busbw(const std::vector<SimRow>& rows) {
  double sum = 0;
  for (const SimRow& row : rows) sum += row.busbw;
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

double max_busbw(const std::vector<SimRow>& rows) {
  double most = 0;
  for (const SimRow& row : rows) most = std::max(most, row.busbw);
  return most;
}

}  // namespace heddle::tools
