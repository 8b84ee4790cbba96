#include "collectives/schedule.hpp"

#include <array>

#include "collectives/generators.hpp"

namespace heddle::collectives {

std::span<const Algorithm> algorithms() {
  static const std::array all{kRing, kTree, kOneShot, kTwoShot, kStar, kPairwise};
  return all;
}

const Algorithm* algorithm_named(std::string_view name) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return &algorithm;
  return nullptr;
}

}  // namespace heddle::collectives
