#include "harness/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/benchmark.hpp"
#include "harness/names.hpp"
#include "harness/sizes.hpp"

namespace heddle::bench {
namespace {

// What the flags fill before the values are translated.
struct Raw {
  std::string min = "32M", max = "32M", step = "1M", type = "float", op = "sum";
  int average = 1, blocking = 0, cpu_time = 0, timestamps = 0, registration = 0, threads = 1;
};

std::size_t bytes_of(const std::string& flag, const std::string& text) {
  std::size_t bytes = 0;
  if (!parse_bytes(text, bytes))
    throw Usage(fmt::format("{} {}: not a size; allowed: a number, with K, M or G for powers of "
                            "1024, up to 2^62",
                            flag, text),
                kInvalidUsage);
  return bytes;
}

void add_flags(CLI::App& app, Options& options, Raw& raw) {
  const auto at_least = [](int low) { return CLI::Range(low, 1 << 30); };
  app.add_option("-b,--minbytes", raw.min, "smallest size (32M)");
  app.add_option("-e,--maxbytes", raw.max, "largest size (32M)");
  app.add_option("-i,--stepbytes", raw.step, "from one size to the next, in bytes (1M)");
  app.add_option("-f,--stepfactor", options.factor, "from one size to the next, as a factor")
      ->check(CLI::Range(2, 1 << 30));
  app.add_option("-n,--iters", options.iterations, "timed iterations (20)")->check(at_least(1));
  app.add_option("-m,--agg_iters", options.aggregate, "operations in an iteration (1)")
      ->check(at_least(1));
  app.add_option("-w,--warmup_iters", options.warmup, "untimed iterations (1)")->check(at_least(0));
  app.add_option("-N,--run_cycles", options.cycles, "times to print the table (1)")
      ->check(at_least(1));
  app.add_option("-c,--check", options.check, "checked iterations, 0 for none (1)")
      ->check(at_least(0));
  app.add_option("-o,--op", raw.op,
                 "sum, prod, max, min, avg, mulsum (inputs scaled by rank) or all (sum)");
  app.add_option(
      "-d,--datatype", raw.type,
      "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, "
      "f8e5m2 or all (float)");
  app.add_option("-r,--root", options.root,
                 "root of operations that have one, -1 for every rank in turn (0)")
      ->check(CLI::Range(-1, 1 << 30));
  app.add_option("-z,--blocking", raw.blocking,
                 "1: a barrier after each operation; 2: none, each waits for its own part, as with "
                 "0; 3: a barrier after each iteration, whose time does not count (0)")
      ->check(CLI::Range(0, 3));
  app.add_option("-a,--average", raw.average, "time of 0 rank 0, 1 average, 2 min, 3 max (1)")
      ->check(CLI::Range(0, 3));
  app.add_option("-C,--report_cputime", raw.cpu_time, "1: CPU time instead of time (0)")
      ->check(CLI::Range(0, 1));
  app.add_option("-S,--report_timestamps", raw.timestamps, "1: a time stamp ends each row (0)")
      ->check(CLI::Range(0, 1));
  app.add_option("-R,--local_register", raw.registration, "1: register the buffers (0)")
      ->check(CLI::Range(0, 2));
  app.add_option("-T,--timeout", options.timeout, "seconds without progress that fail a run")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("-t,--nthreads", raw.threads, "accepted as 1: a rank is a process")
      ->check(CLI::Range(1, 1));
  app.add_option("-g,--ngpus,--ranks", options.ranks,
                 "ranks to fork here when no launcher started the program (2)")
      ->check(CLI::Range(1, 4096));
  app.add_option(
      "--provider", options.provider,
      "libfabric provider that carries all data, also inside a host (shared memory is off)");
  app.add_option("-J,--json,--output_file", options.json, "also write the results there, as JSON");
  app.add_option("--csv", options.csv, "also write the results there, as CSV");
}

}  // namespace

Options parse_options(const std::string& program, const std::vector<std::string>& arguments) {
  CLI::App app("times a collective between processes and checks every element", program);
  Options options;
  Raw raw;
  add_flags(app, options, raw);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw Usage(app.help(), 0);
  } catch (const CLI::ParseError& error) {
    throw Usage(fmt::format("{}; --help lists the flags", error.what()), kInvalidUsage);
  }
  options.min_bytes = bytes_of("-b", raw.min);
  options.max_bytes = bytes_of("-e", raw.max);
  options.step_bytes = bytes_of("-i", raw.step);
  if (options.min_bytes > options.max_bytes)
    throw Usage(fmt::format("-b {} is larger than -e {}; allowed: up to it", raw.min, raw.max),
                kInvalidUsage);
  if (options.factor == 0 && options.step_bytes == 0)
    throw Usage("-i 0: the sizes would never end; allowed: 1 and above", kInvalidUsage);
  try {
    options.types = types_named(raw.type);
    options.ops = ops_named(raw.op);
  } catch (const Error& error) {
    throw Usage(error.what(), kInvalidUsage);
  }
  options.average = static_cast<Average>(raw.average);
  options.blocking = static_cast<Blocking>(raw.blocking);
  options.cpu_time = raw.cpu_time != 0;
  options.timestamps = raw.timestamps != 0;
  options.registration = raw.registration != 0;
  options.arguments = arguments;
  return options;
}

std::string settings_of(const Options& options) {
  std::string settings;
  // Who names a provider wants to see it, also when all ranks share a host.
  if (!options.provider.empty()) settings += "HEDDLE_SHM=0 HEDDLE_PROVIDER=" + options.provider;
  if (options.timeout > 0)
    settings += fmt::format("{}HEDDLE_TIMEOUT={}", settings.empty() ? "" : " ", options.timeout);
  if (!options.settings.empty()) settings += (settings.empty() ? "" : " ") + options.settings;
  return settings;
}

}  // namespace heddle::bench
