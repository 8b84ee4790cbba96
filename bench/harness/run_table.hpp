// One rank's part of a benchmark: all rows, the printing (rank 0), the reports.
#pragma once

#include "harness/benchmark.hpp"

namespace heddle::bench {

// Collective. Returns 0, or kWrongData, on every rank; throws when an operation fails.
int run_table(const Benchmark& benchmark, const Options& options, Control& control,
              Session& session);

}  // namespace heddle::bench
