// Recursive doubling: all-reduce and all-gather in a logarithm of steps, for small messages.
//
// All-reduce: in step k every rank exchanges its whole sum with the rank whose number differs in
// bit k, and both add them, the lower rank's first, so that all ranks get the same bits. The sum so
// far lies in the output. All-gather: they exchange all blocks that they have, as one message; a
// block is written from the slot where it came straight into the messages of all later steps, which
// are open until their last block, so there is no scratch.
//
// Where the number of ranks is no power of two, ranks fold (powers.hpp): a folded rank sends its
// input to the next rank first and gets the result from there last.
//
//   steps                 log2 n for a power of two; else floor(log2 n) + 2
//   bytes sent by a rank  log2 n * m for all-reduce; (n - 1) * block for all-gather, up to twice
//                         that when ranks fold
//   parts of a message    all-gather: n / 2, or n - 1 when ranks fold
//   price                 log2 n * (alpha + m * (beta + gamma)); all-gather log2 n * alpha +
//                         (n - 1) * block * beta
//
// A pipe carries one message a round, and every rank sends the message of a step before it waits
// for the one that its peer sends in that step: one slot suffices.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19 (2005).
#include "collectives/generators.hpp"
#include "collectives/powers.hpp"

namespace heddle::collectives {
namespace {

// A rank of the core, and the ranks it exchanges with.
struct Place {
  Place(int ranks, int rank)
      : fold(ranks),
        steps(floor_log2(fold.core)),
        number(fold.number_of(rank)),
        folded(fold.folded_into(rank)) {}

  End partner(int step) const { return peer(fold.rank_of(number ^ (1 << step))); }
  bool is_upper(int step) const { return (number >> step & 1) != 0; }

  Fold fold;
  int steps;
  int number;
  int folded;  // into this rank, or -1
};

Lane all_reduce(const Place& at, int piece) {
  Lane lane{{piece, {input(0)}, {at.partner(0)}}};
  if (at.folded >= 0) lane = {{piece, {peer(at.folded), input(0)}, {output(0), at.partner(0)}}};
  for (int k = 0; k < at.steps; ++k) {
    const End mine = k == 0 && at.folded < 0 ? input(0) : output(0);
    Move move{piece, {mine, at.partner(k)}, {output(0)}};
    if (at.is_upper(k)) move.sources = {at.partner(k), mine};
    move.completes = k == at.steps - 1;
    if (!move.completes) move.destinations.push_back(at.partner(k + 1));
    if (move.completes && at.folded >= 0) move.destinations.push_back(peer(at.folded));
    lane.push_back(move);
  }
  return lane;
}

// The blocks that a rank of the core has before a step, in the order in which it got them.
std::vector<int> blocks_before(const Fold& fold, int number, int step) {
  if (step > 0) {
    std::vector<int> blocks = blocks_before(fold, number, step - 1);
    const auto got = blocks_before(fold, number ^ (1 << (step - 1)), step - 1);
    blocks.insert(blocks.end(), got.begin(), got.end());
    return blocks;
  }
  const int rank = fold.rank_of(number);
  const int folded = fold.folded_into(rank);
  return folded < 0 ? std::vector<int>{rank} : std::vector<int>{rank, folded};
}

Lane all_gather(const Place& at, int rank, int piece) {
  Lane lane;
  const auto pass_on = [&](End source, int block, int next_step) {
    Move move{piece, {source}, {output(block)}};
    for (int k = next_step; k < at.steps; ++k) move.destinations.push_back(at.partner(k));
    if (at.folded >= 0 && at.folded != block) move.destinations.push_back(peer(at.folded));
    lane.push_back(move);
  };
  pass_on(input(0), rank, 0);
  if (at.folded >= 0) pass_on(peer(at.folded), at.folded, 0);
  for (int k = 0; k < at.steps; ++k)
    for (const int block : blocks_before(at.fold, at.number ^ (1 << k), k))
      pass_on(at.partner(k), block, k + 1);
  return packed(std::move(lane));
}

Lane folded_lane(const Shape& shape, const Fold& fold, int rank, int piece) {
  const End partner = peer(rank + 1);
  if (shape.collective == base::Collective::all_reduce)
    return {{piece, {input(0)}, {partner}}, {piece, {partner}, {output(0)}}};
  Lane lane{{piece, {input(0)}, {output(rank), partner}}};
  for (const int block : blocks_before(fold, fold.number_of(rank + 1), floor_log2(fold.core)))
    if (block != rank) lane.push_back({piece, {partner}, {output(block)}});
  return packed(std::move(lane));
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  if (shape.ranks == 1) return lane_of_one(shape, 1, channel);
  const Fold fold(shape.ranks);
  if (fold.is_folded(rank)) return folded_lane(shape, fold, rank, channel);
  const Place at(shape.ranks, rank);
  return shape.collective == base::Collective::all_reduce ? all_reduce(at, channel)
                                                          : all_gather(at, rank, channel);
}

int most_parts(const Shape& shape) {
  const Fold fold(shape.ranks);
  if (shape.collective == base::Collective::all_reduce || shape.ranks == 1) return 1;
  return fold.extra == 0 ? fold.core / 2 : shape.ranks - 1;
}

}  // namespace

constinit const Algorithm kRecursiveDoubling{
    .name = "recursive-doubling",
    .supports =
        [](base::Collective c) {
          return c == base::Collective::all_reduce || c == base::Collective::all_gather;
        },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .parts = most_parts,
};

}  // namespace heddle::collectives
