// comm.hpp over memory of one process, for tests of what is above it. It answers "not now" before
// every yes, so that callers who do not ask again fail.
#pragma once

#include "heddle/heddle.h"

namespace heddle::nccl_net::testing {

// A send with the tag kFailing + code fails with that code; with kFailingLater + code its test
// does.
inline constexpr int kFailing = 1000, kFailingLater = 2000;

// Alive now.
int endpoints();
int comms();
int memories();

}  // namespace heddle::nccl_net::testing
