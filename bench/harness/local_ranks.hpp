// Ranks as forked children of this process.
#pragma once

#include <functional>

#include "harness/control.hpp"

namespace heddle::bench {

// Forks `ranks` children and runs `body` in each; its answer is the child's exit status. Returns 0
// when all answered 0, else the first status that was not, or 1 for a child that a signal ended.
// The first failed child is named on standard error, and so is each that a signal ended; the
// others, which can only wait for it, are given two seconds to say so and are then killed. Children
// die with this process. The caller must hold no threads.
int run_local_ranks(int ranks, const std::function<int(Control&)>& body);

}  // namespace heddle::bench
