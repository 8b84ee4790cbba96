#include "tune/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "harness/benchmark.hpp"
#include "harness/sizes.hpp"

namespace heddle::bench::tune {
namespace {

std::size_t bytes_of(const std::string& flag, const std::string& text) {
  std::size_t bytes = 0;
  if (!parse_bytes(text, bytes) || bytes < 4 || bytes > std::size_t{1} << 32)
    throw Usage(fmt::format("{} {}: not allowed; allowed: 4 to 4G bytes, with K, M or G for powers "
                            "of 1024",
                            flag, text),
                kInvalidUsage);
  return bytes;
}

std::vector<base::Collective> collectives_named(const std::vector<std::string>& names) {
  std::vector<base::Collective> collectives;
  for (const std::string& name : names) {
    const auto collective = base::collective_named(name);
    if (collective) {
      collectives.push_back(*collective);
      continue;
    }
    throw Usage(
        fmt::format("--collectives {}: not known; allowed: {}", name, base::known_collectives()),
        kInvalidUsage);
  }
  if (collectives.empty())
    for (int i = 0; i < base::kCollectives; ++i)
      collectives.push_back(static_cast<base::Collective>(i));
  return collectives;
}

}  // namespace

TuneOptions parse_tune_options(const std::vector<std::string>& arguments) {
  CLI::App app(
      "measures the machine it runs on and every algorithm on it, and writes the file that "
      "HEDDLE_TUNING_FILE names",
      "heddle-tune");
  TuneOptions options;
  std::string min = "8", max = "64M";
  std::vector<std::string> names;
  app.add_option("-g,--ranks", options.ranks,
                 "ranks to fork here when no launcher started the program (2)")
      ->check(CLI::Range(2, 4096));
  app.add_option("-b,--minbytes", min, "smallest size (8)");
  app.add_option("-e,--maxbytes", max, "largest size (64M)");
  app.add_option("-f,--stepfactor", options.factor, "from one size to the next (4)")
      ->check(CLI::Range(2, 1 << 30));
  app.add_option("--collectives", names, "which, separated by commas (all)")->delimiter(',');
  app.add_option("--budget", options.budget,
                 "seconds that it may take (120); few leave candidates out, and it says so")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("-o,--output", options.output, "the machine file to write");
  app.add_option("--merge", options.merge,
                 "a machine file whose rows for other worlds and collectives are kept");
  app.add_option("-J,--json", options.json, "also write how far the picks are from the best there");
  app.add_option("--name", options.name, "of the machine (the host's name)");
  app.add_option("--provider", options.provider,
                 "libfabric provider that carries all data, also inside a host (shared memory is "
                 "off)");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw Usage(app.help(), 0);
  } catch (const CLI::ParseError& error) {
    throw Usage(fmt::format("{}; --help lists the flags", error.what()), kInvalidUsage);
  }
  options.min_bytes = bytes_of("-b", min);
  options.max_bytes = bytes_of("-e", max);
  if (options.min_bytes > options.max_bytes)
    throw Usage(fmt::format("-b {} is larger than -e {}; allowed: up to it", min, max),
                kInvalidUsage);
  options.collectives = collectives_named(names);
  return options;
}

Options library_options(const TuneOptions& options, const std::string& settings) {
  Options library;
  library.provider = options.provider;
  library.settings = settings;
  return library;
}

}  // namespace heddle::bench::tune
