// The table of settings, for a terminal and as docs/settings.md.
#pragma once

#include <string>

#include "base/settings.hpp"

namespace heddle::tools {

// A line a setting: name, value in force, where it came from, what is allowed.
std::string settings_text(const base::Settings& settings);
// docs/settings.md: depends on nothing but the table.
std::string settings_markdown();

}  // namespace heddle::tools
