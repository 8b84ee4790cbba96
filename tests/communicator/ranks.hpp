// Ranks as threads of this process, each with a communicator of its own, through the public API.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "model.hpp"

namespace heddle::test {

// Stops a rank's thread; Catch's own assertions are not for several threads at once.
void expect(bool condition, const std::string& what);

using Body = std::function<void(Communicator&, int rank)>;

// Runs `body` on a thread for every rank and returns what each threw ("" for nothing). A rank that
// throws aborts its communicator, so that the others end too.
std::vector<std::string> errors_of_ranks(int ranks, const Body& body,
                                         const std::string& settings = {});
// The same, and every rank must end without an error.
void run_ranks(int ranks, const Body& body, const std::string& settings = {});

// One operation of this rank with fresh buffers, `misaligned` bytes off an aligned address, between
// red zones, checked element by element against the plain model. Fails like expect().
void check_operation(Communicator& communicator, const Operation& operation, bool in_place,
                     std::size_t misaligned = 0);

}  // namespace heddle::test
