// How large a schedule is, before its lanes are made.
#pragma once

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// Of one round, over all ranks and channels.
struct Extent {
  double moves = 0;
  double ends = 0;   // of pipes: the peers among sources and destinations
  double pipes = 0;  // that some rank writes
};

// About: makes the lanes of the root and of a few other ranks, and takes every rank but the root,
// which may have far more than the others, for the largest of those. Requires can_do().
Extent extent_of(const Algorithm& algorithm, const Shape& shape);

}  // namespace heddle::collectives
