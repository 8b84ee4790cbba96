// Runs the lanes of a schedule on a machine model, as discrete events: a move begins when its lane
// is there, its messages have come and its destinations have free slots, exactly as the executor
// runs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/schedule.hpp"
#include "simulator/compact_lanes.hpp"
#include "simulator/trace.hpp"
#include "topology/machine.hpp"

namespace heddle::simulator {

struct Job {
  const topology::Machine& machine;
  int adapters = -1;  // a host; -1: all, 0: the host network
  int ranks = 0;      // the first ones of the machine
  int channels = 1;
  int pieces = 1;  // of one round, over all channels
  int parts = 1;   // the most chunks in one message
  LaneSource lanes;
  std::size_t count = 0;  // elements of a block
  std::size_t element_bytes = 4;
  topology::Protocol protocol = {};
};

struct Result {
  double seconds = 0;         // from the start until the last rank is done
  std::uint64_t events = 0;   // taken from the queue
  std::uint64_t moves = 0;    // run, over all ranks and rounds
  std::uint64_t stripes = 0;  // sent between hosts
  double network_bytes = 0;   // on the wire between hosts
};

// The job of an algorithm. Requires that the algorithm can do the shape; the machine and the
// algorithm must outlive it.
Job job_of(const topology::Machine& machine, const collectives::Algorithm& algorithm,
           const collectives::Shape& shape, std::size_t count, std::size_t element_bytes);

// Deterministic: the same job gives the same result to the last picosecond. Fails with
// heddleInvalidArgument for a machine without the network or the ranks that the job needs, and with
// heddleInternalError when the schedule cannot go on, naming a rank, channel and move. `trace` may
// be null; it gets every move and stripe, so leave it out for large jobs. Thread-safe.
Result simulate(const Job& job, Trace* trace = nullptr);

}  // namespace heddle::simulator
