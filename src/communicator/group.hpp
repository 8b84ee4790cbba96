// Groups of calls (heddleGroupStart): what a thread has noted since, and how it runs at the end.
#pragma once

#include <memory>

#include "communicator/communicator.hpp"

namespace heddle::communicator {

// All of these are about the calling thread.
void start_group();
bool in_group();
// Notes a call for the end of the group. Requires in_group().
void add_to_group(std::shared_ptr<Communicator> communicator, Call call);
// The group will do nothing at its end but fail with this.
void spoil_group(const std::string& why);

// Ends a group without doing anything, if there is one; one around it is spoilt.
void discard_group(const std::string& why);

// Ends a group: the outermost runs everything and waits for all of it, also where something fails;
// then it throws the first failure. Fails with heddleInvalidUsage without a start, or when a call
// of the group had failed.
void end_group();

// The same without waiting. The last operation is over when all are; null when nothing was noted or
// the group is an inner one. Fails with heddleInvalidUsage for calls of several communicators.
struct Started {
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<Operation> operation;
};
Started end_group_async();

}  // namespace heddle::communicator
