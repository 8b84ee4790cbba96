// With what roots and hosts a collective is tried.
#pragma once

#include <vector>

#include "collectives/schedule.hpp"

namespace heddle::test {

// Every root of few ranks, else the first, one within and the last; 0 for a collective without.
inline std::vector<int> roots(base::Collective collective, int ranks) {
  if (!base::has_root(collective)) return {0};
  std::vector<int> roots;
  for (int root = 0; root < ranks; ++root)
    if (ranks <= 3 || root == 0 || root == ranks / 2 || root == ranks - 1) roots.push_back(root);
  return roots;
}

// The shape if the algorithm can do it, whatever the hosts; else the shape with every number of
// ranks a host with which it can.
inline std::vector<collectives::Shape> shapes(const collectives::Algorithm& algorithm,
                                              collectives::Shape shape) {
  std::vector<collectives::Shape> shapes;
  if (can_do(algorithm, shape)) return {shape};
  for (int on_host = 1; on_host <= shape.ranks; ++on_host) {
    shape.ranks_per_host = on_host;
    if (shape.ranks % on_host == 0 && can_do(algorithm, shape)) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace heddle::test
