// The world as a launcher describes it in environment variables: torchrun, Open MPI, MPICH's hydra,
// Slurm. docs/bootstrap.md tells the rules.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/host_port.hpp"
#include "base/settings.hpp"

namespace heddle::communicator {

struct LaunchedRank {
  std::string launcher;  // "torchrun", "Open MPI", ...
  int rank = 0;
  int ranks = 1;
  bool one_host = false;  // the launcher says that all ranks share this host
  std::string job;        // the same text on all ranks of the job
  // Where rank 0 listens, and the variable with its value that says so; none when nothing does.
  std::optional<base::HostPort> root;
  std::string root_said_by;
};

using GetVariable = std::function<std::optional<std::string>(const char*)>;

// What the environment says; a world of one, launcher "none", when it says nothing. Fails with
// heddleInvalidArgument when a variable is malformed, and with heddleInvalidUsage when a number of
// ranks is promised but this process has no rank.
LaunchedRank read_environment(const GetVariable& get, const base::Settings& settings);
std::optional<std::string> get_variable(const char* name);

}  // namespace heddle::communicator
