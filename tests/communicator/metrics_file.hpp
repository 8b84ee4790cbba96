// What HEDDLE_METRICS_FILE says of this process, for tests.
#pragma once

#include <unistd.h>

#include <sstream>
#include <string>

#include "base/files.hpp"
#include "check_operation.hpp"

namespace heddle::test {

inline constexpr const char* kMetricsSetting = "HEDDLE_METRICS_FILE=/tmp/heddle-metrics-test-%h-%p";

inline std::string metrics_file() { return base::expand_path("/tmp/heddle-metrics-test-%h-%p"); }

// The value of a series; -1 when it is not there, and every series may be there once only.
inline long long value_of(const std::string& name, const std::string& label) {
  const std::string path = metrics_file();
  std::istringstream lines(base::read_file(path, path));
  long long value = -1;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    if (line.find("pid=\"" + std::to_string(getpid()) + "\"") == std::string::npos)
      expect(false, "no process: " + line);
    if (!line.starts_with(name + "{") || line.find(label) == std::string::npos) continue;
    expect(value == -1, "twice: " + line);
    value = std::stoll(line.substr(line.rfind(' ') + 1));
  }
  return value;
}
inline long long done(const std::string& operation) {
  return value_of("heddle_operations_done_total", "operation=\"" + operation + "\"");
}

}  // namespace heddle::test
