// heddle-sim: what a collective would take on a machine that is not here.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "heddle/version.h"
#include "heddle_sim_run.hpp"
#include "heddle_sim_scaling.hpp"
#include "heddle_sim_text.hpp"
#include "simulator/trace.hpp"

namespace {

using namespace heddle;

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void write_trace(const std::string& path, const simulator::Trace& trace,
                 const topology::Machine& machine) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << simulator::chrome_json(trace, machine.ranks_per_host, machine.name + ", simulated");
  file.close();
  if (!file) base::fail_errno(errno, "cannot write " + path);
}

void run(const tools::SimOptions& options) {
  const topology::Machine machine = tools::sim_machine(options);
  if (options.compare) {
    print(tools::sim_compare(machine, options));
    return;
  }
  if (options.scaling) {
    tools::sim_scaling(machine, options, print);
    return;
  }
  const auto schedule = tools::sim_schedule(machine, options);
  std::vector<tools::SimRow> rows;
  simulator::Trace trace;
  const auto sizes = tools::sim_sizes(options);
  for (const std::size_t bytes : sizes) {
    const bool traced = !options.trace.empty() && bytes == sizes.back();
    simulator::Trace* const into = traced ? &trace : nullptr;
    rows.push_back(schedule ? tools::sim_row(machine, options, *schedule, bytes, into)
                            : tools::sim_row(machine, options, options.adapters, bytes, into));
    if (options.json) continue;
    // The first row refuses what cannot be simulated, so that the head waits for it.
    if (rows.size() == 1)
      print(tools::sim_preamble(machine, options, rows.front().chosen.shape.ranks) +
            tools::sim_header());
    print(tools::sim_row_text(rows.back()));
  }
  if (!options.trace.empty()) write_trace(options.trace, trace, machine);
  print(options.json ? tools::sim_json(machine, options, rows) : tools::sim_footer(options, rows));
}

void add_flags(CLI::App& app, tools::SimOptions& options) {
  app.add_option("collective", options.collective,
                 "all-reduce, all-gather, reduce-scatter, broadcast, reduce, gather, scatter or "
                 "all-to-all (\"_\" counts as \"-\")")
      ->required();
  app.add_option("--machine", options.machine_name,
                 "a machine file, or p3.8xlarge, p4d.24xlarge, p5.48xlarge, trn1.32xlarge or "
                 "trn1n.32xlarge")
      ->required();
  auto* hosts = app.add_option("--hosts", options.hosts, "hosts (the machine file's)")
                    ->check(CLI::Range(1, 1 << 20));
  auto* adapters =
      app.add_option("--adapters", options.adapters,
                     "adapters that the job is given on each host (all); 0: the host network")
          ->check(CLI::Range(0, 1024));
  auto* algorithm =
      app.add_option("--algorithm", options.algorithm, "instead of the software's choice");
  auto* channels =
      app.add_option("--channels", options.channels, "instead of the software's choice")
          ->check(CLI::Range(1, 1024));
  auto* schedule = app.add_option("--schedule", options.schedule,
                                  "run the schedule of this file, as HEDDLE_SCHEDULE does; of "
                                  "fewer ranks, on the machine's first");
  app.add_option("-b,--minbytes", options.min_bytes, "smallest size (8)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(tools::kLeastBytes, tools::kMostBytes));
  app.add_option("-e,--maxbytes", options.max_bytes, "largest size (1G)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(tools::kLeastBytes, tools::kMostBytes));
  app.add_option("-f,--stepfactor", options.factor, "from one size to the next, as a factor (2)")
      ->check(CLI::Range(2, 1 << 20));
  auto* trace = app.add_option(
      "--trace", options.trace,
      "write what every rank and rail did in the last row there, for Chrome or Perfetto");
  auto* json = app.add_flag("--json", options.json, "print the table as JSON");
  auto* compare = app.add_flag("--compare", options.compare,
                               "print average and maximum bus bandwidth with 4, 1 and 0 adapters");
  auto* scaling = app.add_flag(
      "--scaling", options.scaling,
      "print ring, tree and hierarchical at the largest size, from one host to 16384 ranks");
  compare->excludes(json, trace, adapters, scaling);
  scaling->excludes(json, trace, hosts);
  schedule->excludes(algorithm, channels, compare, scaling);
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{
      "Simulates a collective of floats on a machine model and prints the benchmarks' "
      "table. All figures are simulated."};
  tools::SimOptions options;
  add_flags(app, options);
  app.set_version_flag("--version",
                       fmt::format("heddle {}.{}.{}", HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH));
  CLI11_PARSE(app, count, words);
  try {
    run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle-sim: %s\n", error.what());
    return 1;
  }
}
