// Starts a program's ranks: as a launcher did, or by forking them here.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "harness/control.hpp"
#include "harness/session.hpp"

namespace heddle::bench {

// Joins all ranks into one more communicator. Collective.
using Join = std::function<std::unique_ptr<Session>(const Options& options)>;

// Runs `body` on every rank, under MPI when a launcher started this process, else in `ranks` forked
// children (0: 2), and returns the exit status. Exceptions go to standard error by rank. `body`
// returns the status of its rank; kWrongData is one that all ranks know of, others end the job.
// Throws Error with heddleInvalidUsage when the launcher and `ranks` contradict each other.
int launch(std::string_view program, int ranks,
           const std::function<int(Control& control, const Join& join)>& body);

}  // namespace heddle::bench
