// The world as a launcher describes it in environment variables: torchrun, Open MPI, MPICH's hydra,
// Slurm. docs/bootstrap.md tells the rules.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/settings.hpp"

namespace heddle::communicator {

struct LaunchedRank {
  std::string launcher;  // "torchrun", "Open MPI", ...
  int rank = 0;
  int ranks = 1;
  bool one_host = false;  // the launcher says that all ranks share this host
  std::string job;        // the same text on all ranks of the job
  std::string root;       // host:port where rank 0 listens; empty when the launcher does not say
};

using GetVariable = std::function<std::optional<std::string>(const char*)>;

// What the environment says; a world of one, launcher "none", when it says nothing. Fails with
// heddleInvalidArgument when a variable is malformed, and with heddleInvalidUsage when a number of
// ranks is promised but this process has no rank.
LaunchedRank read_environment(const GetVariable& get, const base::Settings& settings);
std::optional<std::string> get_variable(const char* name);

}  // namespace heddle::communicator
