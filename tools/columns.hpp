// Rows of words as aligned columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace heddle::tools {

class Columns {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // Each row indented by two spaces, columns two apart. A row's last cell may run over the columns
  // of longer rows, so that a sentence there does not push them apart.
  std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i + 1 < row.size(); ++i)
        widths[i] = std::max(widths[i], row[i].size());
    }
    std::string all;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t gap = widths[i] > row[i].size() ? widths[i] - row[i].size() : 0;
        line += "  " + row[i] + std::string(gap, ' ');
      }
      all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heddle::tools
