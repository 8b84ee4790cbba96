#include "collectives/extent.hpp"

#include <algorithm>
#include <set>

namespace heddle::collectives {
namespace {

Extent extent_of(const Lane& lane) {
  Extent extent;
  std::set<int> written;
  extent.moves = static_cast<double>(lane.size());
  for (const Move& move : lane) {
    for (const End& end : move.sources) extent.ends += end.where == End::Where::peer ? 1 : 0;
    for (const End& end : move.destinations) {
      if (end.where != End::Where::peer) continue;
      extent.ends += 1;
      written.insert(end.index);
    }
  }
  extent.pipes = static_cast<double>(written.size());
  return extent;
}

}  // namespace

Extent extent_of(const Algorithm& algorithm, const Shape& shape) {
  const Extent root = extent_of(algorithm.lane(shape, shape.root, 0));
  Extent most;
  for (const int rank : {0, 1, shape.ranks / 2, shape.ranks - 1}) {
    if (rank == shape.root || rank >= shape.ranks) continue;
    const Extent other = extent_of(algorithm.lane(shape, rank, 0));
    most.moves = std::max(most.moves, other.moves);
    most.ends = std::max(most.ends, other.ends);
    most.pipes = std::max(most.pipes, other.pipes);
  }
  const double others = shape.ranks - 1, channels = shape.channels;
  return {(root.moves + most.moves * others) * channels,
          (root.ends + most.ends * others) * channels,
          (root.pipes + most.pipes * others) * channels};
}

}  // namespace heddle::collectives
