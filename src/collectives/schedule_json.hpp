// Schedules as JSON files (docs/schedules.md): for algorithms that nobody has compiled in.
#pragma once

#include <string>
#include <string_view>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// Reads and proves a schedule, also in place where the collective has such a form, with `slots`
// slots a pipe. `name` is the file's, for messages. Fails with heddleInvalidArgument: for a text
// that is no schedule naming line and field, for a schedule that is wrong naming rank, channel and
// move.
Schedule schedule_from_json(std::string_view text, const std::string& name, int slots);
// The same from a file.
Schedule load_schedule(const std::string& path, int slots);

// A move a line. schedule_from_json(to_json(s)) is s.
std::string to_json(const Schedule& schedule);

}  // namespace heddle::collectives
