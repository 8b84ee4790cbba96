// Proves a schedule: runs the lanes of all ranks on symbols, with pipes of finitely many slots.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

enum class FaultKind {
  malformed,             // no schedule: an end, a piece or a peer that cannot be
  wrong_piece,           // the k-th chunk of a pipe is sent as one piece and received as another
  wrong_message,         // the ends of a pipe cut it into messages differently
  leftover_message,      // sent and never received
  deadlock,              // ranks wait for each other, or for a message that nobody sends
  missing_contribution,  // an output lacks a rank's contribution, or was never written
  doubled_contribution,  // a reduction meets a rank's contribution twice
  wrong_value,           // another block's data, or blocks mixed
  overwritten_input,     // reads an input that an in-place operation has written over
  unwritten_output,      // reads an output that was not written
  wrong_completes,       // `completes` without being the first complete value, or not where it is
  different_bits,        // ranks of an all-reduce get results that were reduced in another order
};
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind;
  int rank;
  int channel;
  int move;          // index in the lane, or -1 when it is about the whole lane
  std::string text;  // names rank, channel and move, and what is wrong with it
};

struct VerifyOptions {
  int slots = 2;          // of every pipe, at least 1
  int rounds = 3;         // back to back, at least 1
  bool in_place = false;  // input and output are the same memory, as NCCL defines it
};

// The first fault, or nothing when the schedule is right. Never throws for a wrong schedule.
//
// Right means: every output block holds every contribution exactly once, and for all-reduce the
// same bits on all ranks; `completes` is set just where a reduced value is first complete; nothing
// reads what is not there or no longer there; sends and receives of a pipe pair up; no deadlock.
// It then is right for short messages too, where some pieces are empty: without their moves each
// pipe keeps the order of the others, and the message `slots` before one on a pipe was that many or
// more before it already, so every wait that remains was implied by the full schedule.
std::optional<Fault> verify(const Schedule& schedule, const VerifyOptions& options = {});
std::optional<Fault> verify(const Algorithm& algorithm, const Shape& shape,
                            const VerifyOptions& options = {});

// The least number of slots of every pipe with which the schedule does not deadlock, 0 when no
// number is enough or the schedule has another fault.
int slots_needed(const Schedule& schedule);

}  // namespace heddle::collectives
