// Reading the one-line files of /proc and /sys.
#pragma once

#include <string>
#include <vector>

namespace heddle::topology {

// The first line without its newline; "" when the file is missing, unreadable or empty: in sysfs
// all three mean "not known".
std::string first_line(const std::string& path);
std::vector<std::string> all_lines(const std::string& path);
// The first line as a decimal number; `otherwise` when it is not one.
long number_in(const std::string& path, long otherwise);

}  // namespace heddle::topology
