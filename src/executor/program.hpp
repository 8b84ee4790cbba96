// One rank's part of a schedule: what a plan is made from, whether an algorithm, a whole schedule
// or a group of sends and receives says it.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.hpp"

namespace heddle::executor {

// Sends and receives have a channel of their own, so that they never meet a collective's messages.
inline constexpr int kTransferChannel = 1 << 20;

struct ProgramLane {
  int channel;
  collectives::Lane moves;
  // All rounds of a move come before the next move, instead of all moves before the next round.
  bool in_sequence = false;
};

struct Program {
  collectives::Shape shape;
  int rank;
  int inputs;  // blocks of this rank
  int outputs;
  int pieces;  // of one round, over all channels
  int parts;   // the most chunks of one message of any rank
  std::vector<ProgramLane> lanes;
};

// Requires can_do(algorithm, shape) and 0 <= rank < shape.ranks.
Program program_of(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
                   int rank);
// Requires that verify() finds no fault.
Program program_of(const collectives::Schedule& schedule, int rank);

// `count` sends to a peer, or receives from one, one after the other: the k-th send is input block
// k, the k-th receive output block k. With the rank itself for a peer, either is the copy of input
// block k to output block k.
enum class Direction : std::uint8_t { send, receive };
Program transfers(Direction direction, int peer, int count, int rank, int ranks);

}  // namespace heddle::executor
