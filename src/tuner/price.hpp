// The closed-form price of a schedule on a machine: seconds, linear in the bytes of a chunk.
#pragma once

#include <cstddef>

#include "collectives/schedule.hpp"
#include "topology/machine.hpp"

namespace heddle::tuner {

// fixed + per_byte * bytes, in seconds.
struct Line {
  double fixed = 0;
  double per_byte = 0;

  double at(double bytes) const { return fixed + per_byte * bytes; }
};

// What one round of one channel costs, by the bytes of a chunk.
struct RoundPrice {
  Line path;      // until the last rank is done, if nothing else is under way
  Line rank;      // the moves of the busiest rank, one after the other
  Line inner;     // of the busiest port, or of the memory bus of the busiest host
  Line host;      // the moves of the busiest host's ranks over its cores
  Line adapters;  // of the busiest host
  Line stream;    // of the busiest pipe between hosts, where pipes have a bandwidth of their own
  // The fixed parts of a message so short that only one piece of the round has anything.
  double path_of_one = 0, rank_of_one = 0, host_of_one = 0, adapters_of_one = 0;
  // What the paths have more when every message between hosts asks its receiver first.
  double asking = 0, asking_of_one = 0;
  double chunks_per_message = 1;                  // between hosts, on average
  std::size_t eager_bytes = topology::kAnyBytes;  // the largest message that does not ask
  int pieces = 1;
  int parts = 1;
  std::size_t looks = 0;  // at ends, by all walks: what the price took to make
};

// Walks the lanes of all ranks. Where they have more than half a million ends at pipes, walks those
// of fewer hosts and goes on in a straight line: what has so many ends grows with the ranks. The
// shape's channels are ignored. Requires can_do(algorithm, shape); `network` is
// topology::network_of(machine, ...).
RoundPrice price_round(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
                       const topology::Machine& machine, const topology::AdapterModel& network);

struct Cut {
  std::size_t block_bytes;  // of one block of the collective
  int channels;
  std::size_t message_bytes;  // the most that one message may have
};

// Seconds of the whole operation: the first round's path, then each further round at the pace of
// what is busiest.
double price(const RoundPrice& round, const Cut& cut, const topology::Machine& machine);

}  // namespace heddle::tuner
