// Files that settings name for the planner: read before a rank joins, the same on every rank.
#pragma once

#include <optional>
#include <string>

#include "base/settings.hpp"
#include "collectives/schedule.hpp"
#include "topology/machine.hpp"

namespace heddle::communicator {

struct PlannerFiles {
  std::optional<collectives::Schedule> schedule;  // HEDDLE_SCHEDULE, proved
  std::optional<topology::Machine> machine;       // HEDDLE_TUNING_FILE
  // "NAME=contents 0123abcd...", a line for each file: ranks that differ are told so.
  std::string digests;
};

// Fails with heddleInvalidArgument naming the variable and what is wrong with its file.
PlannerFiles load_planner_files(const base::Settings& settings);

// Takes the eager threshold of HEDDLE_TUNING_FILE, if it has one, unless HEDDLE_EAGER_BYTES was
// set; what is more than that setting may have becomes the most it may have. Returns `settings`.
base::Settings& apply_tuning(base::Settings& settings, const PlannerFiles& files);

}  // namespace heddle::communicator
