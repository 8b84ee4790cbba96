// Whether what is closed is closed.
#pragma once

#include <dirent.h>

#include <stdexcept>

namespace heddle::test {

// How many descriptors this process has open.
inline int open_descriptors() {
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) throw std::runtime_error("/proc/self/fd cannot be read");
  int count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count - 3;  // ".", ".." and the directory itself
}

}  // namespace heddle::test
