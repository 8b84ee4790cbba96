// The outcomes of the races as the short table of a machine file.
#pragma once

#include <span>
#include <vector>

#include "topology/machine.hpp"
#include "tune/race.hpp"

namespace heddle::bench::tune {

// Rows for the sizes of one collective, which ascend. One row goes on as long as one candidate is
// no slower at each of its sizes than the best by more than `tolerance` (a share) or by what the
// noise of both can explain; of several such the fastest over all its sizes. The border between
// rows lies at the geometric mean of the sizes beside it, the last row has none.
std::vector<topology::Tuned> rows_of(std::span<const Outcome> outcomes, const World& world,
                                     double tolerance);

}  // namespace heddle::bench::tune
