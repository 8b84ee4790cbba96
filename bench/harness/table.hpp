// The text that the programs print, in nccl-tests' columns, so that what parses one parses the
// other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/measure.hpp"

namespace heddle::bench {

struct RankPlace {
  int pid = 0;
  char host[64] = {};
};

struct Run {
  std::string_view program;
  const Options& options;
  std::vector<RankPlace> ranks;
  std::string network;  // what carries the data
  int library_version;  // as HEDDLE_VERSION_CODE
};

std::string preamble(const Run& run);
std::string header(const Options& options);
// The time is the one of `average`; `stamp` ends the row unless it is empty.
std::string row_text(const Row& row, Average average, std::string_view stamp);

struct Totals {
  long bad_checks = 0;
  double busbw_sum = 0;
  long halves = 0;

  void add(const Row& row);
  double mean_busbw() const { return halves > 0 ? busbw_sum / static_cast<double>(halves) : 0; }
};
std::string footer(std::string_view program, const Totals& totals);

// The local time as "YYYY-MM-DD HH:MM:SS".
std::string time_stamp();

}  // namespace heddle::bench
