// Double binary tree, all-reduce, broadcast and reduce: logarithmic latency at the full bandwidth.
//
// A binary tree reduces towards its root and broadcasts back in 2 h steps, but half of its ranks
// are leaves, which send a message once while an inner rank sends it twice. So there are two trees
// over the same ranks, such that an inner rank of one is a leaf of the other, and each carries half
// of the pieces. Positions 1..n in order: odd ones are leaves, and the inner ones of level l are
// the odd multiples of 2^l; a child that would lie past n is replaced by that child's left child.
// Tree 0 puts rank r at position r + 1. Tree 1 mirrors it when n is even (position n - r), which
// swaps odd and even; when n is odd it shifts it by one (position (r + 1) mod n + 1), which does
// too, for all but one rank that is a leaf of both.
//
// Order of moves. A lane runs strictly in order, so the reductions and broadcasts of both trees are
// merged by a common clock: at depth d of trees of height h, the i-th piece of a tree is reduced at
// tick i + h - d and broadcast at tick i + h + d (one move at the root), and moves of one tick go
// by piece. Nothing then waits its turn behind a move that can only run later. Nor is there a
// deadlock with two slots, for any number of ranks: a message is received one tick after it was
// sent, and the message two before it on the pipe (which both trees may use) was received in an
// earlier tick, or in the same tick with a lower piece. Whatever a move waits for comes before it
// in the order (tick, piece), and such a relation has no cycle.
//
// Broadcast and reduce: the root stands outside, at the head of two trees of the other ranks, which
// are numbered from it. The ticks are those of one half of an all-reduce, i + d and i + h - d.
//
//   pieces                2 trees * k a channel, k = max(4, h): with fewer the pipeline of 2 h
//                         ticks runs emptier, with more a middle-sized message pays more alpha
//   steps                 2 h + k - 1 for a round, h = floor(log2 n)
//                         (h + k for broadcast and reduce, with h of n - 1 ranks)
//   bytes sent by a rank  2 m (an inner rank: m/2 up and m down in one tree, m/2 up in the other),
//                         against 2 (n - 1) / n * m of a ring; m for broadcast and reduce
//   price                 (2 h + k - 1) (alpha + 2 m / k * beta + m / k * gamma) for one round, at
//                         most
//
// Sources: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
// and scan", Parallel Computing 35 (2009), where the trees and their mirror and shift are from;
// they colour the edges for one port, which is not needed where sends are asynchronous.
#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kBroadcast = base::Collective::broadcast;
constexpr auto kReduce = base::Collective::reduce;
constexpr int kTrees = 2;
constexpr int kNobody = -1;

// A rank's neighbours in one tree.
struct Node {
  int parent = kNobody;
  int left = kNobody;
  int right = kNobody;
  int depth = 0;
};

// The child that stands where `position` would be, or 0: positions past n yield to their left
// children.
int existing(int position, int half, int ranks) {
  while (position > ranks && half > 0) {
    position -= half;
    half /= 2;
  }
  return position <= ranks ? position : 0;
}

// The tree of positions 1..ranks, walked from its root down to `position`. Neighbours are positions
// here, 0 for none.
Node walk_to(int position, int ranks) {
  int at = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  Node node{.parent = 0};
  for (;;) {
    const int half = (at & -at) / 2;  // distance to the children; 0 at a leaf
    node.left = half == 0 ? 0 : at - half;
    node.right = half == 0 ? 0 : existing(at + half, half / 2, ranks);
    if (at == position) return node;
    node.parent = at;
    at = position < at ? node.left : node.right;
    ++node.depth;
  }
}

int position_of(int rank, int tree, int ranks) {
  if (tree == 0) return rank + 1;
  return ranks % 2 == 0 ? ranks - rank : (rank + 1) % ranks + 1;
}

int rank_at(int position, int tree, int ranks) {
  if (position == 0) return kNobody;
  if (tree == 0) return position - 1;
  return ranks % 2 == 0 ? ranks - position : (position + ranks - 2) % ranks;
}

int tree_root(int tree, int ranks) {
  return rank_at(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))), tree, ranks);
}

Node node_of(int rank, int tree, int ranks) {
  Node node = walk_to(position_of(rank, tree, ranks), ranks);
  for (int* neighbour : {&node.parent, &node.left, &node.right})
    *neighbour = rank_at(*neighbour, tree, ranks);
  return node;
}

// The root is the greatest power of two up to n, so the leftmost leaf is the deepest.
int height(int ranks) { return std::bit_width(static_cast<unsigned>(ranks)) - 1; }

// The ranks that make up a tree.
int members(const Shape& shape) {
  return shape.collective == kAllReduce ? shape.ranks : shape.ranks - 1;
}

int pieces_per_channel(const Shape& shape) {
  return shape.ranks == 1 ? 1 : kTrees * std::max(4, height(members(shape)));
}

std::vector<End> children(const Node& node) {
  std::vector<End> ends;
  for (const int child : {node.left, node.right})
    if (child != kNobody) ends.push_back(peer(child));
  return ends;
}

Move reduction(const Node& node, int piece) {
  Move move{piece, {input(0)}, {}};
  // In the order of the positions: what is left of this rank first.
  if (node.left != kNobody) move.sources.insert(move.sources.begin(), peer(node.left));
  if (node.right != kNobody) move.sources.push_back(peer(node.right));
  if (node.parent != kNobody) {
    move.destinations = {peer(node.parent)};
  } else {
    move.destinations = children(node);
    move.destinations.insert(move.destinations.begin(), output(0));
    move.completes = true;
  }
  return move;
}

Move broadcast(const Node& node, int piece) {
  Move move{piece, {peer(node.parent)}, children(node)};
  move.destinations.insert(move.destinations.begin(), output(0));
  return move;
}

struct Timed {
  int tick;
  Move move;
};

Lane in_order(std::vector<Timed> timed) {
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return std::tie(a.tick, a.move.piece) < std::tie(b.tick, b.move.piece);
  });
  Lane lane;
  for (Timed& t : timed) lane.push_back(std::move(t.move));
  return lane;
}

// Pieces alternate between the trees, so that a message that fills only the first few uses both.
Lane all_reduce(const Shape& shape, int rank, int first_piece) {
  const int h = height(shape.ranks);
  const Node nodes[kTrees] = {node_of(rank, 0, shape.ranks), node_of(rank, 1, shape.ranks)};
  std::vector<Timed> timed;
  for (int i = 0; i < pieces_per_channel(shape); ++i) {
    const Node& node = nodes[i % kTrees];
    timed.push_back({i / kTrees + h - node.depth, reduction(node, first_piece + i)});
    if (node.parent != kNobody)
      timed.push_back({i / kTrees + h + node.depth, broadcast(node, first_piece + i)});
  }
  return in_order(std::move(timed));
}

// The root's end of a broadcast or reduce.
Lane head(const Shape& shape, int first_piece) {
  Lane lane;
  for (int i = 0; i < pieces_per_channel(shape); ++i) {
    const int first = (tree_root(i % kTrees, members(shape)) + 1 + shape.root) % shape.ranks;
    if (shape.collective == kBroadcast)
      lane.push_back({first_piece + i, {input(0)}, {output(0), peer(first)}});
    else
      lane.push_back({first_piece + i, {input(0), peer(first)}, {output(0)}, true});
  }
  return lane;
}

Lane rooted(const Shape& shape, int rank, int first_piece) {
  const int number = (rank - shape.root + shape.ranks) % shape.ranks;
  if (number == 0) return head(shape, first_piece);
  const int h = height(members(shape));
  std::vector<Timed> timed;
  for (int i = 0; i < pieces_per_channel(shape); ++i) {
    Node node = node_of(number - 1, i % kTrees, members(shape));
    // The parent of a tree's root, nobody (-1), becomes the root of the collective.
    for (int* neighbour : {&node.parent, &node.left, &node.right})
      if (*neighbour != kNobody || neighbour == &node.parent)
        *neighbour = (*neighbour + 1 + shape.root) % shape.ranks;
    if (shape.collective == kBroadcast)
      timed.push_back({i / kTrees + node.depth, broadcast(node, first_piece + i)});
    else
      timed.push_back({i / kTrees + h - node.depth, reduction(node, first_piece + i)});
  }
  return in_order(std::move(timed));
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int pieces = pieces_per_channel(shape);
  if (shape.ranks == 1) return lane_of_one(shape, pieces, channel);
  return shape.collective == kAllReduce ? all_reduce(shape, rank, channel * pieces)
                                        : rooted(shape, rank, channel * pieces);
}

}  // namespace

constinit const Algorithm kTree{
    .name = "tree",
    .supports =
        [](base::Collective c) { return c == kAllReduce || c == kBroadcast || c == kReduce; },
    .pieces = [](const Shape& shape) { return pieces_per_channel(shape) * shape.channels; },
    .lane = lane_of,
};

}  // namespace heddle::collectives
