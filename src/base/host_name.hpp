// The name that this host goes by.
#pragma once

#include <unistd.h>

#include <string>

namespace heddle::base {

// As gethostname(2) says; "unknown" when it fails.
inline std::string host_name() {
  char name[256] = {};  // Linux allows 64; the last byte stays zero
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace heddle::base
