// heddle-tune: measures the machine and every algorithm on it, and writes HEDDLE_TUNING_FILE.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness/benchmark.hpp"
#include "harness/launch.hpp"
#include "tune/run.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  // They would win over what is to be measured.
  for (const char* name :
       {"HEDDLE_ALGO", "HEDDLE_CHANNELS", "HEDDLE_SCHEDULE", "HEDDLE_TUNING_FILE"})
    unsetenv(name);
  try {
    const tune::TuneOptions options = tune::parse_tune_options({argv + 1, argv + argc});
    return launch("heddle-tune", options.ranks, [&](Control& control, const Join& join) {
      return tune::run(options, control, join);
    });
  } catch (const Usage& usage) {
    std::fputs(
        usage.status == 0 ? usage.what() : fmt::format("heddle-tune: {}\n", usage.what()).c_str(),
        usage.status == 0 ? stdout : stderr);
    return usage.status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "heddle-tune: {}\n", error.what());
    return kInternalError;
  }
}
