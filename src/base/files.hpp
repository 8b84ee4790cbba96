// Files that a person names in a setting or on a command line.
#pragma once

#include <cstddef>
#include <string>

namespace heddle::base {

inline constexpr std::size_t kMostFileMiB = 64;

// The contents of a regular file of at most kMostFileMiB. Anything else (a directory, a fifo or
// device, which might never end) fails with heddleInvalidArgument: "name: what it is". Never
// blocks.
std::string read_file(const std::string& path, const std::string& name);

}  // namespace heddle::base
