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

// Puts `text` in place of what the file held; who reads it meanwhile sees the old or the new whole.
// Fails with heddleSystemError, and leaves the old. One thread at a time for a path; processes may
// replace the same one.
void replace_file(const std::string& path, const std::string& text);

// A path with %h as the host's name and %p as this process's number.
std::string expand_path(const std::string& pattern);

}  // namespace heddle::base
