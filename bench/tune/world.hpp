// Who takes part in a tuning run, as the library's planner will see them, and what is tuned.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "harness/benchmark.hpp"
#include "tuner/tuner.hpp"

namespace heddle::bench::tune {

struct World {
  int rank = 0, ranks = 1;
  int hosts = 1;           // that do not share memory; each rank is one where shared memory is off
  int ranks_per_host = 1;  // as in collectives::Shape
  int cores = 1;           // that the ranks of a host may use, the fewest of all hosts
  std::size_t memory = 0;  // bytes of a host, the least of all hosts
  std::string host;        // of rank 0, by its name
};

// Collective. `settings` are the library's, beside those of the environment.
World describe_world(Control& control, const std::string& settings);

// What is measured: one collective at one size.
struct Cell {
  base::Collective collective;
  std::size_t bytes;  // of the larger buffer of a rank
};

const Benchmark& benchmark_of(base::Collective collective);
// Elements (float32) of a block of the cell.
std::size_t count_of(const Cell& cell, int ranks);
// The bytes that the elements make up, which are what a planner sees.
std::size_t bytes_of(const Cell& cell, int ranks);

// What the library would ask its tuner in that world.
tuner::Request request_of(const World& world, const Cell& cell, std::size_t slot_bytes);

}  // namespace heddle::bench::tune
