// Schedules in words, for people: documentation, logs and the messages of failed proofs.
#pragma once

#include <string>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// "input 0", "output 2", "peer 5", "peer 5 ..." for a message that goes on.
std::string to_text(const End& end);
// "piece 3: peer 1 + input 0 -> output 0, peer 3 (completes)".
std::string to_text(const Move& move);
// One rank's lanes, a move a line. Requires that the algorithm supports the collective.
std::string to_text(const Shape& shape, const Algorithm& algorithm, int rank);

}  // namespace heddle::collectives
