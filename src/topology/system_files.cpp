#include "topology/system_files.hpp"

#include <fstream>

#include "base/text.hpp"

namespace heddle::topology {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> all_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

long number_in(const std::string& path, long otherwise) {
  const std::string line = first_line(path);
  long value = 0;
  return base::parse_number(line, value) ? value : otherwise;
}

}  // namespace heddle::topology
