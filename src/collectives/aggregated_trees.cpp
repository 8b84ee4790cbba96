// Parallel aggregated trees, all-gather and reduce-scatter: a logarithm of steps, each one packed
// message.
//
// All-gather: the block of every rank goes down a binomial tree of its own that is rooted there and
// looks the same seen from each root: with offset j = rank - root, j's parent is j without its
// lowest bit. So in the step of 2^k every rank sends to the rank 2^k further, for as many trees as
// it has such a child in, and those blocks are one message. The far steps come first and carry one
// block, the near ones last and carry half of all: where ranks of a host are neighbours, most bytes
// stay inside. Reduce-scatter is the same in reverse: near first, sums towards the roots.
//
// There is no scratch: a block that goes on is written from the slot where it came straight into
// the messages of later steps, which are open until their last block. Each step has its own peers,
// hence its own pipes.
//
//   steps                 ceil(log2 n), as many messages
//   bytes sent by a rank  (n - 1) * block, the least that is possible
//   parts of a message    up to n / 2
//   price                 log2 n * alpha + (n - 1) * block * (beta + gamma), no gamma for
//                         all-gather
//
// A pipe carries one message a round, which is whole before the first chunk is read from the pipe
// of the same step: one slot suffices.
//
// Sources: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
// arXiv:2506.20252 (2025), from which the order of the steps is; Bruck, Ho, Kipnis, Upfal and
// Weathersby, IEEE Trans. Parallel Distrib. Syst. 8 (1997), for the steps themselves.
#include <algorithm>

#include "collectives/generators.hpp"
#include "collectives/powers.hpp"

namespace heddle::collectives {
namespace {

// The steps by which offset j's block goes on, far first.
std::vector<int> steps_of(int j, int ranks) {
  std::vector<int> steps;
  for (int k = j == 0 ? floor_log2(ranks) : floor_log2(lowest_bit(j)) - 1; k >= 0; --k)
    if (j + (1 << k) < ranks) steps.push_back(1 << k);
  return steps;
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  if (n == 1) return lane_of_one(shape, 1, channel);
  const auto at = [&](int distance) { return (rank + distance + n) % n; };
  const bool gathers = shape.collective == base::Collective::all_gather;
  std::vector<int> order = far_first(n);
  if (!gathers) std::reverse(order.begin(), order.end());
  Lane lane;
  for (const int j : order) {
    const int block = at(-j);
    const int step = lowest_bit(j);
    Move move{channel, {}, {}};
    if (gathers) {
      move.sources = {j == 0 ? input(0) : peer(at(-step))};
      move.destinations = {output(block)};
      for (const int next : steps_of(j, n)) move.destinations.push_back(peer(at(next)));
    } else {
      move.sources = {input(block)};
      for (const int next : steps_of(j, n)) move.sources.push_back(peer(at(next)));
      move.destinations = {j == 0 ? output(0) : peer(at(-step))};
      move.completes = j == 0;
    }
    lane.push_back(move);
  }
  return packed(std::move(lane));
}

}  // namespace

constinit const Algorithm kAggregatedTrees{
    .name = "pat",
    .supports =
        [](base::Collective c) {
          return c == base::Collective::all_gather || c == base::Collective::reduce_scatter;
        },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .parts = [](const Shape& shape) { return std::max(1, shape.ranks / 2); },
};

}  // namespace heddle::collectives
