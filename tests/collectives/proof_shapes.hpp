// The shapes that an algorithm is tried with.
#pragma once

#include <vector>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// Every collective that the algorithm has, by `ranks` ranks on `channels` channels: with all roots
// up to `all_roots` ranks, and above with those that differ in kind; and where the hosts matter,
// with every number of ranks a host, or above `all_roots` with those that differ in kind.
inline std::vector<Shape> shapes_of(const Algorithm& algorithm, int ranks, int channels,
                                    int all_roots = 8) {
  const auto every_or = [&](std::vector<int> some) {
    if (ranks > all_roots) return some;
    some.clear();
    for (int i = 0; i < ranks; ++i) some.push_back(i);
    return some;
  };
  std::vector<Shape> shapes;
  const auto add = [&](const Shape& shape) {
    if (can_do(algorithm, shape)) shapes.push_back(shape);
    return can_do(algorithm, shape);
  };
  for (int c = 0; c < base::kCollectives; ++c) {
    const auto collective = static_cast<base::Collective>(c);
    const std::vector<int> roots =
        base::has_root(collective) ? every_or({0, ranks / 3, ranks - 1}) : std::vector<int>{0};
    for (const int root : roots) {
      if (add({collective, ranks, channels, root})) continue;
      for (const int on_host : every_or({2, 3, 8, 17, ranks / 3, ranks / 2}))
        if (on_host > 0 && ranks % on_host == 0) add({collective, ranks, channels, root, on_host});
    }
  }
  return shapes;
}

}  // namespace heddle::collectives
