// Pairwise all-to-all: n - 1 steps, in each of which every rank sends one block straight to its
// receiver and takes one from its sender, so that no rank is ever sent to by two at once.
//
// At step k rank r sends to r + k and receives from r - k. The send of a step comes before its
// receive, and every pipe carries one message a round, so one slot suffices.
//
//   steps                 n - 1
//   bytes sent by a rank  (n - 1) * block, the least that is possible
//   price                 (n - 1) (alpha + block * beta)
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19 (2005), section 3.3 (the exchange for long messages).
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  Lane lane{{channel, {input(rank)}, {output(rank)}}};
  for (int step = 1; step < n; ++step) {
    const int to = (rank + step) % n;
    const int from = (rank + n - step) % n;
    lane.push_back({channel, {input(to)}, {peer(to)}});
    lane.push_back({channel, {peer(from)}, {output(from)}});
  }
  return lane;
}

}  // namespace

constinit const Algorithm kPairwise{
    .name = "pairwise",
    .supports = [](base::Collective c) { return c == base::Collective::all_to_all; },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .uneven = true,
};

}  // namespace heddle::collectives
