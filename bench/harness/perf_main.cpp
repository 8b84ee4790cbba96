#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "harness/benchmark.hpp"
#include "harness/launch.hpp"
#include "harness/report.hpp"
#include "harness/run_table.hpp"

namespace heddle::bench {

int perf_main(const Benchmark& benchmark, int argc, char** argv) {
  try {
    const Options options = parse_options(std::string(benchmark.name), {argv + 1, argv + argc});
    return launch(benchmark.name, options.ranks, [&](Control& control, const Join& join) {
      // Before the others are kept busy for nothing.
      if (control.rank() == 0)
        for (const std::string& path : {options.json, options.csv}) check_writable(path);
      const auto session = join(options);
      return run_table(benchmark, options, control, *session);
    });
  } catch (const Usage& usage) {
    std::fputs(usage.status == 0 ? usage.what()
                                 : fmt::format("{}: {}\n", benchmark.name, usage.what()).c_str(),
               usage.status == 0 ? stdout : stderr);
    return usage.status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", benchmark.name, error.what());
    return kInternalError;
  }
}

}  // namespace heddle::bench
