// heddle-sim --scaling: how algorithms fare from one host to 16,384 ranks.
#pragma once

#include <functional>
#include <string>

#include "heddle_sim_run.hpp"

namespace heddle::tools {

inline constexpr int kMostScalingRanks = 16384;

// Ring, tree and hierarchical (or options.algorithm alone) of options.max_bytes; calls print for
// each line as it is ready. A point of too many moves is extrapolated, and marked so.
void sim_scaling(const topology::Machine& machine, const SimOptions& options,
                 const std::function<void(const std::string&)>& print);

}  // namespace heddle::tools
