// Texts of one thing a line, as ranks compare them.
#pragma once

#include <string_view>
#include <vector>

namespace heddle::communicator {

// Without the line ends; the views lead into `text`.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

}  // namespace heddle::communicator
