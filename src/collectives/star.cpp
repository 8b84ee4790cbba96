// Star all-reduce: everybody sends to one root, which answers everybody. Two steps and the fewest
// messages of all, 2 (n - 1) in the whole group, for small messages where what a message costs the
// processor counts more than how long it travels: ranks that share cores, or a provider that makes
// a system call for each.
//
// Step 1: every rank sends its input to the root (rank c mod n on channel c). The root reduces all
// n inputs in the order of the ranks, keeps the result and sends it to all others in the same pass.
// Step 2: they keep it.
//
//   steps                    2
//   bytes sent by the root   (n - 1) m; by each other rank m
//   price                    2 alpha + 2 (n - 1) m beta + (n - 1) m gamma, and 2 (n - 1) message
//                            overheads at the root
//
// Source: the flat tree of Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 19 (2005).
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  if (n == 1) return lane_of_one(shape, 1, channel);
  const int root = channel % n;
  if (rank != root)
    return {{channel, {input(0)}, {peer(root)}}, {channel, {peer(root)}, {output(0)}}};
  Move all{channel, {}, {output(0)}, true};
  for (int q = 0; q < n; ++q) all.sources.push_back(q == rank ? input(0) : peer(q));
  for (int step = 1; step < n; ++step) all.destinations.push_back(peer((rank + step) % n));
  return {all};
}

}  // namespace

constinit const Algorithm kStar{
    .name = "star",
    .supports = [](base::Collective c) { return c == base::Collective::all_reduce; },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
};

}  // namespace heddle::collectives
