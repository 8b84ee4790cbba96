// Checks what a program passes, before anything moves. Everything fails with heddleInvalidArgument
// naming the argument, its value and what is allowed.
#pragma once

#include <cstddef>
#include <vector>

#include "communicator/operation.hpp"

namespace heddle::communicator {

// Whom the checks are about.
struct Place {
  int rank;
  int ranks;
};

// An element type of heddle.h.
void check_type(heddleDataType_t type);

// What a program passes for blocks of equal length.
struct Arguments {
  const void* send;
  void* receive;
  std::size_t count;
  heddleDataType_t type;
  heddleRedOp_t op = heddleSum;
  heddleStream_t stream = nullptr;
  int root = 0;
};
Call checked_call(base::Collective collective, const Arguments& arguments, const Place& place);

// Blocks of different lengths, by rank; displacements may be null.
struct UnevenBlocks {
  const void* start;
  const std::size_t* counts;
  const std::size_t* displacements;
};
struct UnevenArguments {
  UnevenBlocks send;     // reduce-scatter, all-to-all; for all-gather its counts are receive's
  UnevenBlocks receive;  // all-gather, all-to-all; for reduce-scatter its counts are send's
  heddleDataType_t type;
  heddleRedOp_t op = heddleSum;
  heddleStream_t stream = nullptr;
};
Call checked_uneven_call(base::Collective collective, const UnevenArguments& arguments,
                         const Place& place);

// One send or receive.
Call checked_transfer(executor::Direction direction, const void* buffer, std::size_t count,
                      heddleDataType_t type, int peer, heddleStream_t stream, const Place& place);
// The k-th send of a rank to itself is met by its k-th receive from itself. Fails with
// heddleInvalidUsage when there is none, and when their sizes differ.
void check_transfers_to_self(const std::vector<Transfer>& transfers, int rank);
// What one transfer of a group receives into, no other receives into or sends. Fails otherwise.
void check_transfers_apart(std::vector<Transfer> transfers);

Call barrier_call(heddleStream_t stream);

}  // namespace heddle::communicator
