// One proof as an assertion.
#pragma once

#include "catch.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"

namespace heddle::collectives {

// In place, which is the harder way: it allows nothing that is wrong out of place, and only adds
// that an input may be overwritten before it is read.
inline void prove(const Algorithm& algorithm, const Shape& shape, const Schedule& schedule,
                  int rounds) {
  const auto fault = verify(schedule, {.slots = 2, .rounds = rounds, .in_place = true});
  if (!fault) return;
  FAIL_CHECK(algorithm.name << " " << base::name_of(shape.collective) << ", " << shape.ranks
                            << " ranks, " << shape.channels << " channels, root " << shape.root
                            << ", " << shape.ranks_per_host << " ranks a host: "
                            << name_of(fault->kind) << ": " << fault->text << "\n"
                            << (fault->rank >= 0 ? to_text(shape, algorithm, fault->rank) : ""));
}

}  // namespace heddle::collectives
