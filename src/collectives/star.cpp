// Star: everybody talks to one rank only, directly. The fewest messages of all, for small messages
// where what a message costs the processor counts more than how long it travels: ranks that share
// cores, or a provider that makes a system call for each.
//
// All-reduce. Step 1: every rank sends its input to the centre (rank c mod n on channel c), which
// reduces all n inputs in the order of the ranks, keeps the result and sends it to all others in
// the same pass. Step 2: they keep it. Broadcast, scatter, reduce and gather are one of the steps,
// with the root at the centre; for gather and scatter no algorithm moves fewer bytes.
//
//   steps                      2, or 1
//   bytes sent by the centre   (n - 1) m; by each other rank m
//   price                      2 alpha + 2 (n - 1) m beta + (n - 1) m gamma, and 2 (n - 1) message
//                              overheads at the centre; half of that for one step
//
// Source: the flat tree of Thakur, Rabenseifner and Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 19 (2005).
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

// The other ranks, beginning after `rank`.
std::vector<int> others(int ranks, int rank) {
  std::vector<int> all;
  for (int step = 1; step < ranks; ++step) all.push_back((rank + step) % ranks);
  return all;
}

std::vector<End> all_in_order(int ranks, int rank) {
  std::vector<End> sources;
  for (int q = 0; q < ranks; ++q) sources.push_back(q == rank ? input(0) : peer(q));
  return sources;
}

Lane at_centre(const Shape& shape, int rank, int piece) {
  Lane lane;
  Move move{piece, {}, {output(0)}};
  switch (shape.collective) {
    case base::Collective::all_reduce:
      for (const int q : others(shape.ranks, rank)) move.destinations.push_back(peer(q));
      [[fallthrough]];
    case base::Collective::reduce:
      move.sources = all_in_order(shape.ranks, rank);
      move.completes = true;
      return {move};
    case base::Collective::broadcast:
      move.sources = {input(0)};
      for (const int q : others(shape.ranks, rank)) move.destinations.push_back(peer(q));
      return {move};
    case base::Collective::scatter:
      for (const int q : others(shape.ranks, rank)) lane.push_back({piece, {input(q)}, {peer(q)}});
      lane.push_back({piece, {input(rank)}, {output(0)}});
      return lane;
    case base::Collective::gather:
      lane.push_back({piece, {input(0)}, {output(rank)}});
      for (const int q : others(shape.ranks, rank)) lane.push_back({piece, {peer(q)}, {output(q)}});
      return lane;
    default: return {};
  }
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  const bool symmetric = shape.collective == base::Collective::all_reduce;
  const int centre = symmetric ? channel % shape.ranks : shape.root;
  if (shape.ranks == 1) return lane_of_one(shape, 1, channel);
  if (rank == centre) return at_centre(shape, rank, channel);
  Lane lane;
  if (!base::only_root_sends(shape.collective))
    lane.push_back({channel, {input(0)}, {peer(centre)}});
  if (!base::only_root_receives(shape.collective))
    lane.push_back({channel, {peer(centre)}, {output(0)}});
  return lane;
}

}  // namespace

constinit const Algorithm kStar{
    .name = "star",
    .supports =
        [](base::Collective c) { return c == base::Collective::all_reduce || base::has_root(c); },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .uneven = true,
};

}  // namespace heddle::collectives
