// Ring: rank r sends to r + 1 only and receives from r - 1 only.
//
// All-reduce. A round has n pieces a channel. Phase 1, reduce-scatter, n - 1 steps: piece p starts
// at rank p + 1, which sends its own contribution; every next rank adds its own and sends the sum
// on. The chain of piece p ends at rank p, which has everybody's: it keeps the result and, in the
// same pass, starts phase 2, all-gather, n - 1 steps: every next rank keeps the piece and sends it
// on, but for the last, which only keeps it. Reduce-scatter and all-gather are one phase each, with
// a block for a piece.
//
//   steps                 2 (n - 1), or n - 1 for one phase
//   bytes sent by a rank  2 (n - 1) / n * m for all-reduce; (n - 1) * block for the others
//   price                 2 (n - 1) alpha + 2 (n - 1) / n * m * beta + (n - 1) / n * m * gamma
//
// No algorithm puts fewer bytes on the wire of a rank; the number of messages grows with n. Every
// rank sends before it receives and is then always one message ahead, so two slots suffice: a move
// needs a free slot ahead while the one it sent before is being read.
//
// Sources: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", J. Parallel Distrib. Comput. 69 (2009); Chan, Heimlich, Purkayastha and van de
// Geijn, "Collective communication: theory, practice, and experience", Concurrency Computat. 19
// (2007).
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

// The peers of a rank, and ranks counted backwards from it around the ring.
struct Place {
  int ranks;
  int rank;

  int back(int steps) const { return ((rank - steps) % ranks + ranks) % ranks; }
  int previous() const { return back(1); }
  int next() const { return back(-1); }
};

Lane all_reduce(const Place& at, int first_piece) {
  Lane lane;
  const End from = peer(at.previous());
  const End to = peer(at.next());
  const int n = at.ranks;
  lane.push_back({first_piece + at.back(1), {input(0)}, {to}});
  for (int step = 2; step < n; ++step)
    lane.push_back({first_piece + at.back(step), {from, input(0)}, {to}});
  lane.push_back({first_piece + at.rank, {from, input(0)}, {output(0), to}, true});
  for (int step = 1; step < n - 1; ++step)
    lane.push_back({first_piece + at.back(step), {from}, {output(0), to}});
  lane.push_back({first_piece + at.next(), {from}, {output(0)}});
  return lane;
}

Lane reduce_scatter(const Place& at, int piece) {
  Lane lane;
  const End from = peer(at.previous());
  const End to = peer(at.next());
  lane.push_back({piece, {input(at.back(1))}, {to}});
  for (int step = 2; step < at.ranks; ++step)
    lane.push_back({piece, {from, input(at.back(step))}, {to}});
  lane.push_back({piece, {from, input(at.rank)}, {output(0)}, true});
  return lane;
}

Lane all_gather(const Place& at, int piece) {
  Lane lane;
  const End from = peer(at.previous());
  const End to = peer(at.next());
  lane.push_back({piece, {input(0)}, {output(at.rank), to}});
  for (int step = 1; step < at.ranks - 1; ++step)
    lane.push_back({piece, {from}, {output(at.back(step)), to}});
  lane.push_back({piece, {from}, {output(at.next())}});
  return lane;
}

int pieces_per_channel(const Shape& shape) {
  return shape.collective == base::Collective::all_reduce ? shape.ranks : 1;
}

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int pieces = pieces_per_channel(shape);
  if (shape.ranks == 1) return lane_of_one(shape, pieces, channel);
  const Place at{shape.ranks, rank};
  switch (shape.collective) {
    case base::Collective::all_reduce: return all_reduce(at, channel * pieces);
    case base::Collective::reduce_scatter: return reduce_scatter(at, channel);
    case base::Collective::all_gather: return all_gather(at, channel);
    default: return {};
  }
}

}  // namespace

constinit const Algorithm kRing{
    .name = "ring",
    .supports =
        [](base::Collective c) {
          return c == base::Collective::all_reduce || c == base::Collective::reduce_scatter ||
                 c == base::Collective::all_gather;
        },
    .pieces = [](const Shape& shape) { return pieces_per_channel(shape) * shape.channels; },
    .lane = lane_of,
    .uneven = true,
};

}  // namespace heddle::collectives
