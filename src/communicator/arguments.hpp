// Checks what a program passes, before anything moves.
#pragma once

#include "communicator/operation.hpp"

namespace heddle::communicator {

// The call, if everything about it is right. Fails with heddleInvalidArgument naming the argument,
// its value and what is allowed.
Call checked_call(base::Collective collective, const void* send, void* receive, std::size_t count,
                  heddleDataType_t type, heddleRedOp_t op, heddleStream_t stream, int rank,
                  int ranks);

}  // namespace heddle::communicator
