// One-shot: every rank sends what it has to everybody who needs it, at once; then each computes its
// own result. One step, for small messages among few ranks.
//
// All-reduce: a rank sends its input to all others and reduces all n inputs itself. All-gather: it
// sends its block to all others. Reduce-scatter: it sends block q to rank q, and reduces the n
// copies of its own block. Sources are reduced in the order of the ranks, so that all ranks get the
// same bits.
//
//   steps                 1 (n - 1 messages at once)
//   bytes sent by a rank  (n - 1) * m; over shared memory the slot is written once and read n - 1
//                         times
//   price                 alpha + (n - 1) * m * beta + (n - 1) * m * gamma, where m is a block for
//                         all-gather (without gamma) and reduce-scatter
//
// All sends come before all receives, so one slot suffices. The order of the peers is staggered by
// rank: no receiver is everybody's first.
//
// Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory,
// practice, and experience", Concurrency Computat. 19 (2007), the short-vector algorithms of a
// fully connected network; the name is that of TensorRT-LLM's and vLLM's kernels.
#include <cstddef>

#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

// All ranks' contributions in the order of the ranks, this rank's own from `own`.
std::vector<End> everybody(const Shape& shape, int rank, End own) {
  std::vector<End> sources;
  sources.reserve(static_cast<std::size_t>(shape.ranks));
  for (int q = 0; q < shape.ranks; ++q) sources.push_back(q == rank ? own : peer(q));
  return sources;
}

Lane all_reduce(const Shape& shape, int rank, int piece) {
  Move send{piece, {input(0)}, {}};
  for (int step = 1; step < shape.ranks; ++step)
    send.destinations.push_back(peer((rank + step) % shape.ranks));
  return {send, {piece, everybody(shape, rank, input(0)), {output(0)}, true}};
}

Lane reduce_scatter(const Shape& shape, int rank, int piece) {
  Lane lane;
  for (int step = 1; step < shape.ranks; ++step) {
    const int to = (rank + step) % shape.ranks;
    lane.push_back({piece, {input(to)}, {peer(to)}});
  }
  lane.push_back({piece, everybody(shape, rank, input(rank)), {output(0)}, true});
  return lane;
}

Lane all_gather(const Shape& shape, int rank, int piece) {
  Move send{piece, {input(0)}, {output(rank)}};
  for (int step = 1; step < shape.ranks; ++step)
    send.destinations.push_back(peer((rank + step) % shape.ranks));
  Lane lane{send};
  for (int step = 1; step < shape.ranks; ++step) {
    const int from = (rank + shape.ranks - step) % shape.ranks;
    lane.push_back({piece, {peer(from)}, {output(from)}});
  }
  return lane;
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  if (shape.ranks == 1) return lane_of_one(shape, 1, channel);
  switch (shape.collective) {
    case base::Collective::all_reduce: return all_reduce(shape, rank, channel);
    case base::Collective::reduce_scatter: return reduce_scatter(shape, rank, channel);
    case base::Collective::all_gather: return all_gather(shape, rank, channel);
    default: return {};
  }
}

}  // namespace

constinit const Algorithm kOneShot{
    .name = "one-shot",
    .supports =
        [](base::Collective c) {
          return c == base::Collective::all_reduce || c == base::Collective::reduce_scatter ||
                 c == base::Collective::all_gather;
        },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .uneven = true,
};

}  // namespace heddle::collectives
