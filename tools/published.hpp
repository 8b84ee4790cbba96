// What was published of two p4d.24xlarge: 16 ranks, all-reduce of float sums, 8 B to 1 GiB
// (docs/simulator.md), from docs/machines/p4d-published.csv.
#pragma once

#include <string_view>
#include <vector>

namespace heddle::tools {

struct Published {
  int adapters;
  std::string_view provider;
  double mean, max;  // bus bandwidth, GB/s
};
const std::vector<Published>& published_summaries();

}  // namespace heddle::tools
