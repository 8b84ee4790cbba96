// Ranks as threads of this process, each with a communicator of its own, through the public API.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check_operation.hpp"

namespace heddle::test {

using Body = std::function<void(Communicator&, int rank)>;

// Runs `body` on a thread for every rank and returns what each threw ("" for nothing). A rank that
// throws aborts its communicator, so that the others end too.
std::vector<std::string> errors_of_ranks(int ranks, const Body& body,
                                         const std::string& settings = {});
// With settings of each rank's own.
using SettingsOf = std::function<std::string(int rank)>;
std::vector<std::string> errors_of_ranks(int ranks, const Body& body, const SettingsOf& settings);
// The same, and every rank must end without an error.
void run_ranks(int ranks, const Body& body, const std::string& settings = {});
void run_ranks(int ranks, const Body& body, const SettingsOf& settings);

// What a rank's body ended with.
struct Ended {
  heddleResult_t result = heddleInProgress;
  std::string text;
};
// The same for bodies that may fail: what every rank's ended with. None aborts.
std::vector<Ended> ends_of_ranks(int ranks, const Body& body, const std::string& settings);

// Runs the ranks, none of which may fail, and returns what they log at level info.
std::string log_of_ranks(int ranks, const Body& body, const std::string& settings);

// What every way to carry data is called in settings.
inline constexpr const char* kCarriers[] = {"HEDDLE_SHM=1", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp"};

}  // namespace heddle::test
