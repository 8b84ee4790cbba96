// The numbers of the machine model, measured: what a rank does with data, what is between the ranks
// of a host, and what is between hosts.
#pragma once

#include <string>

#include "base/settings.hpp"
#include "harness/progress.hpp"
#include "topology/machine.hpp"
#include "tune/library_stopwatch.hpp"

namespace heddle::bench::tune {

struct Probe {
  Control& control;
  const World& world;
  const OpenSession& open_session;
  const base::Settings& settings;  // in force, for the slots and the eager threshold
  std::string name;                // of the machine
  std::string origin;              // "measured by heddle-tune on HOST, DATE"
  double seconds;                  // after which the fewest samples do
  Progress& progress;
};

// Collective; the same numbers on every rank. Without `tuned` rows.
topology::Machine measure_machine(const Probe& probe);

}  // namespace heddle::bench::tune
