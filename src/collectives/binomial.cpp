// Binomial tree: broadcast, reduce, gather and scatter in a logarithm of steps, for small messages.
//
// Ranks are renumbered from the root, which is 0. The parent of v is v without its lowest bit, so
// the subtree of v is the range of lowest_bit(v) numbers from v. Broadcast: a rank passes on what
// comes from its parent to all children in the same move, the largest subtree first. Reduce: it
// adds what its children send to its own, smallest subtree first. Gather and scatter: the blocks of
// a subtree are one message, of which each block is passed on from the slot where it came.
//
//   steps                     ceil(log2 n)
//   bytes sent by the root    log2 n * m for broadcast, (n - 1) * block for scatter
//   parts of a message        up to n / 2, for gather and scatter
//   price                     log2 n * (alpha + m * (beta + gamma)), no gamma for broadcast; for
//                             gather and scatter log2 n * alpha + (n - 1) * block * beta
//
// All messages go towards the root, or all away from it, one a pipe and round: one slot suffices.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19 (2005), the algorithms for short messages.
#include <algorithm>

#include "collectives/generators.hpp"
#include "collectives/powers.hpp"

namespace heddle::collectives {
namespace {

// A rank in the tree. Numbers are counted from the root.
struct Node {
  Node(const Shape& shape, int rank)
      : ranks(shape.ranks), root(shape.root), number((rank - root + ranks) % ranks) {}

  int rank_of(int v) const { return (v + root) % ranks; }
  End parent() const { return peer(rank_of(number - lowest_bit(number))); }
  // The children, smallest subtree first.
  std::vector<End> children() const {
    std::vector<End> ends;
    for (int step = 1; number + step < ranks && (number == 0 || step < lowest_bit(number));
         step *= 2)
      ends.push_back(peer(rank_of(number + step)));
    return ends;
  }
  // One past the last of the subtree.
  int end() const { return number == 0 ? ranks : std::min(ranks, number + lowest_bit(number)); }
  // The child whose subtree v is in.
  End child_of(int v) const { return peer(rank_of(number + (1 << floor_log2(v - number)))); }

  int ranks;
  int root;
  int number;
};

Lane broadcast(const Node& node, int piece) {
  const bool is_root = node.number == 0;
  Move move{piece, {is_root ? input(0) : node.parent()}, node.children()};
  move.destinations.push_back(output(0));
  std::reverse(move.destinations.begin(), move.destinations.end());
  return {move};
}

Lane reduce(const Node& node, int piece) {
  const bool is_root = node.number == 0;
  Move move{piece, node.children(), {is_root ? output(0) : node.parent()}, is_root};
  move.sources.insert(move.sources.begin(), input(0));
  return {move};
}

// Blocks in rising order, so that the small subtrees, which are there first, come first.
Lane gather(const Node& node, int piece) {
  Lane lane;
  for (int v = node.number; v < node.end(); ++v)
    lane.push_back({piece,
                    {v == node.number ? input(0) : node.child_of(v)},
                    {node.number == 0 ? output(node.rank_of(v)) : node.parent()}});
  return packed(std::move(lane));
}

// In falling order, so that the large subtrees, which have the longest way, come first.
Lane scatter(const Node& node, int piece) {
  Lane lane;
  for (int v = node.end() - 1; v >= node.number; --v)
    lane.push_back({piece,
                    {node.number == 0 ? input(node.rank_of(v)) : node.parent()},
                    {v == node.number ? output(0) : node.child_of(v)}});
  return packed(std::move(lane));
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  if (shape.ranks == 1) return lane_of_one(shape, 1, channel);
  const Node node(shape, rank);
  switch (shape.collective) {
    case base::Collective::broadcast: return broadcast(node, channel);
    case base::Collective::reduce: return reduce(node, channel);
    case base::Collective::gather: return gather(node, channel);
    case base::Collective::scatter: return scatter(node, channel);
    default: return {};
  }
}

// The largest subtree below the root.
int most_parts(const Shape& shape) {
  if (shape.collective != base::Collective::gather && shape.collective != base::Collective::scatter)
    return 1;
  int most = 1;
  for (int step = 1; step < shape.ranks; step *= 2)
    most = std::max(most, std::min(step, shape.ranks - step));
  return most;
}

}  // namespace

constinit const Algorithm kBinomial{
    .name = "binomial",
    .supports = [](base::Collective c) { return base::has_root(c); },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .parts = most_parts,
};

}  // namespace heddle::collectives
