#include "collectives/schedule.hpp"

#include <vector>

#include "collectives/generators.hpp"

namespace heddle::collectives {

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> all = [] {
    std::vector<Algorithm> list{kRing, kTree, kOneShot, kTwoShot, kStar, kPairwise};
    list.insert(list.end(), hierarchies().begin(), hierarchies().end());
    return list;
  }();
  return all;
}

const Algorithm* algorithm_named(std::string_view name) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return &algorithm;
  return nullptr;
}

}  // namespace heddle::collectives
