// One rank's part of heddle-tune.
#pragma once

#include "harness/launch.hpp"
#include "tune/options.hpp"

namespace heddle::bench::tune {

// Collective. Returns 0; throws when an operation or a file fails.
int run(const TuneOptions& options, Control& control, const Join& join);

}  // namespace heddle::bench::tune
