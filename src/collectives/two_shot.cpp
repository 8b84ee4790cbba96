// Two-shot all-reduce: a direct reduce-scatter, then a direct all-gather. Two steps, for messages
// that are too long to be sent whole to everybody and too short for a ring's 2 (n - 1) steps.
//
// A round has n pieces a channel; piece p belongs to rank p. Shot 1: every rank sends its part of
// piece p to rank p. Rank p reduces the n parts in the order of the ranks, keeps the result and
// sends it to all others in the same pass; shot 2: they keep it.
//
//   steps                 2 (n - 1 messages at once in each)
//   bytes sent by a rank  2 (n - 1) / n * m, as few as a ring's; over shared memory the result is
//                         written once and read n - 1 times
//   price                 2 alpha + 2 (n - 1) / n * m * beta + (n - 1) / n * m * gamma on a network
//                         that carries n - 1 messages of a rank at once
//
// The order of the peers is staggered by rank: no receiver is everybody's first. In each shot the
// sends come before the receives, and a pipe carries two messages a round, of which a rank receives
// the first before it sends its second; two slots suffice.
//
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, whose halving
// and doubling is replaced by direct exchange; the name is that of TensorRT-LLM's and vLLM's
// kernels.
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  if (n == 1) return lane_of_one(shape, 1, channel);
  const int first_piece = channel * n;
  Lane lane;
  Move own{first_piece + rank, {}, {output(0)}, true};
  for (int step = 1; step < n; ++step) {
    const int to = (rank + step) % n;
    lane.push_back({first_piece + to, {input(0)}, {peer(to)}});
    own.destinations.push_back(peer(to));
  }
  for (int q = 0; q < n; ++q) own.sources.push_back(q == rank ? input(0) : peer(q));
  lane.push_back(own);
  for (int step = 1; step < n; ++step) {
    const int from = (rank + n - step) % n;
    lane.push_back({first_piece + from, {peer(from)}, {output(0)}});
  }
  return lane;
}

}  // namespace

constinit const Algorithm kTwoShot{
    .name = "two-shot",
    .supports = [](base::Collective c) { return c == base::Collective::all_reduce; },
    .pieces = [](const Shape& shape) { return shape.ranks * shape.channels; },
    .lane = lane_of,
};

}  // namespace heddle::collectives
