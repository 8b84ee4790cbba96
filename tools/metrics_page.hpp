// What a process wrote to HEDDLE_METRICS_FILE, for a terminal.
#pragma once

#include <string>

namespace heddle::tools {

// Whose it is, then a line for each operation that ran, then a line for each rail. Fails with
// heddleInvalidArgument for a file that is none of these, with file and line.
std::string metrics_text(const std::string& path);

}  // namespace heddle::tools
