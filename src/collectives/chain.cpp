// Chain: broadcast and reduce in a pipeline through all ranks, for large messages.
//
// Ranks are renumbered from the root, which is 0. Broadcast: v keeps what comes from v - 1 and
// passes it on to v + 1 in the same move. Reduce: v adds its own to what comes from v + 1 and
// passes the sum on to v - 1. A round has several pieces, so that a message of one round is a
// pipeline too; rounds follow each other through the chain without a gap.
//
//   steps                 n - 1 + pieces of the message - 1
//   bytes sent by a rank  m, the least that is possible
//   price                 (n - 2 + k) * (alpha + m / k * (beta + gamma)) for k pieces, no gamma for
//                         broadcast: about m * beta when k is much larger than n
//
// All messages go one way: nobody waits for one who waits for him, and one slot suffices. With two,
// a rank receives the next piece while it still sends the last.
//
// Source: van de Geijn and Watts, "SUMMA: scalable universal matrix multiplication algorithm",
// Concurrency: Pract. Exper. 9 (1997), for the pipelined broadcast.
#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

// A piece costs a message a rank: more would delay middle-sized messages, fewer would leave more of
// the chain idle.
constexpr int kPieces = 8;

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  if (n == 1) return lane_of_one(shape, kPieces, channel);
  const int number = (rank - shape.root + n) % n;
  const End towards_root = peer((rank - 1 + n) % n);
  const End away = peer((rank + 1) % n);
  Move move{0, {}, {}};
  if (shape.collective == base::Collective::broadcast) {
    move.sources = {number == 0 ? input(0) : towards_root};
    move.destinations = {output(0)};
    if (number < n - 1) move.destinations.push_back(away);
  } else {
    move.sources = {input(0)};
    if (number < n - 1) move.sources.push_back(away);
    move.destinations = {number == 0 ? output(0) : towards_root};
    move.completes = number == 0;
  }
  Lane lane(kPieces, move);
  for (int i = 0; i < kPieces; ++i) lane[static_cast<std::size_t>(i)].piece = channel * kPieces + i;
  return lane;
}

}  // namespace

constinit const Algorithm kChain{
    .name = "chain",
    .supports =
        [](base::Collective c) {
          return c == base::Collective::broadcast || c == base::Collective::reduce;
        },
    .pieces = [](const Shape& shape) { return kPieces * shape.channels; },
    .lane = lane_of,
};

}  // namespace heddle::collectives
