// Recursive halving and doubling, all-reduce: a logarithm of steps and few messages at nearly the
// least bytes, for middle sizes.
//
// The ranks of the core have 2^K numbers (powers.hpp says how others fold), and a round has 2^q
// pieces a channel, q < K. Halving: in step s < q a rank keeps the pieces that agree with its
// number in bit s, gets its partner's part of them and gives the others away; the partner's number
// differs in bit s. Then it has one piece, with the sums of 2^q ranks. Exchange: in steps q to K -
// 1 both ranks send each other that piece and add. Doubling: the halving in reverse, without sums.
// Near ranks exchange much and far ranks one piece.
//
// With q = K - 1 this is Rabenseifner's algorithm, but for its last halving and first doubling, for
// which one exchange moves as many bytes. A larger number of ranks has no more pieces than
// kMaxPieces: as every piece is a message, that saves more messages than it adds bytes.
//
//   steps                 K + q, and 2 more when ranks fold
//   messages of a rank    2 (2^q - 1) + K - q
//   bytes sent by a rank  2 (1 - 2^-q) m + (K - q) 2^-q m, which is 2 (1 - 2^-K) m for q = K - 1
//   price                 (K + q) alpha + (2 + (K - q - 2) 2^-q) m beta
//                         + (1 + (K - q - 1) 2^-q) m gamma
//
// Order of moves. Pieces are counted relative to the rank's number (x = 0 is the one it will have),
// so that all ranks do the same. Step s sends the x whose lowest bit is s. What a step receives is
// sent on in the next one at once, or else waits in the output; what goes on at once comes first.
// The first step has up to four messages in one pipe, so every send is ahead of the receive by one,
// and in the last step likewise: two slots suffice. In steps between there are no more than two.
//
// Sources: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur,
// Rabenseifner and Gropp, IJHPCA 19 (2005).
#include <algorithm>

#include "collectives/generators.hpp"
#include "collectives/powers.hpp"

namespace heddle::collectives {
namespace {

constexpr int kMaxPieces = 8;

int pieces_per_channel(const Shape& shape) {
  return std::clamp(Fold(shape.ranks).core / 2, 1, kMaxPieces);
}

class Builder {
 public:
  Builder(const Shape& shape, int rank, int channel)
      : fold_(shape.ranks),
        pieces_(pieces_per_channel(shape)),
        first_piece_(channel * pieces_),
        halvings_(floor_log2(pieces_)),
        steps_(floor_log2(fold_.core)),
        number_(fold_.number_of(rank)),
        folded_(fold_.folded_into(rank)),
        order_(far_first(pieces_)) {}

  Lane lane() {
    halve();
    exchange();
    double_back();
    return std::move(lane_);
  }

 private:
  // Piece x, counted relative to this rank's number.
  int piece(int x) const { return first_piece_ + (x ^ (number_ & (pieces_ - 1))); }
  End partner(int step) const { return peer(fold_.rank_of(number_ ^ (1 << step))); }

  // This rank's contribution to a piece, with that of the rank that is folded into it.
  std::vector<End> contribution() const {
    return folded_ < 0 ? std::vector<End>{input(0)} : std::vector<End>{peer(folded_), input(0)};
  }
  // In the order of the numbers, so that both partners of an exchange make the same bits.
  std::vector<End> with_partner(std::vector<End> mine, int step) const {
    const bool is_upper = (number_ >> step & 1) != 0;
    mine.insert(is_upper ? mine.begin() : mine.end(), partner(step));
    return mine;
  }

  void give(int x) { lane_.push_back({piece(x), contribution(), {partner(0)}}); }
  // What a halving step receives for piece x.
  void take(int x, int step) {
    const auto mine = step == 0 ? contribution() : std::vector<End>{output(0)};
    Move move{piece(x), with_partner(mine, step), {output(0)}};
    if (x == 0 && step == halvings_ - 1) move.destinations.push_back(partner(halvings_));
    if (x != 0 && lowest_bit(x) == 2 << step) move.destinations = {partner(step + 1)};
    lane_.push_back(move);
  }

  void halve() {
    if (halvings_ == 0) {
      lane_.push_back({piece(0), contribution(), {partner(0)}});
      if (folded_ >= 0) lane_.back().destinations.push_back(output(0));
      return;
    }
    const std::vector<int> falling(order_.rbegin(), order_.rend());
    const std::size_t half = falling.size() / 2;
    for (std::size_t i = 0; i <= half; ++i) {
      if (i < half) give(falling[i]);
      if (i > 0) take(falling[half + i - 1], 0);
    }
    for (int step = 1; step < halvings_; ++step)
      for (const int x : falling)
        if (x % (2 << step) == 0) take(x, step);
  }

  void exchange() {
    for (int step = halvings_; step < steps_; ++step) {
      const bool unread = step == 0 && folded_ < 0;
      Move move{piece(0), with_partner({unread ? input(0) : output(0)}, step), {output(0)}};
      move.completes = step == steps_ - 1;
      if (move.completes)
        send_result(move, halvings_);
      else
        move.destinations.push_back(partner(step + 1));
      lane_.push_back(move);
    }
  }

  // To the partners of all steps below one.
  void send_result(Move& move, int step) const {
    while (step-- > 0) move.destinations.push_back(partner(step));
    if (folded_ >= 0) move.destinations.push_back(peer(folded_));
  }
  void keep(int x) {
    const int step = floor_log2(lowest_bit(x));
    lane_.push_back({piece(x), {partner(step)}, {output(0)}});
    send_result(lane_.back(), step);
  }

  void double_back() {
    // Each of the first half but x = 0 is sent on to the partner of step 0, and each of the second
    // is what that partner sends likewise.
    const std::size_t half = order_.size() / 2;
    std::size_t next = std::max<std::size_t>(half, 1);
    for (std::size_t i = 1; i < half; ++i) {
      if (i > 1) keep(order_[next++]);
      keep(order_[i]);
    }
    while (next < order_.size()) keep(order_[next++]);
  }

  const Fold fold_;
  const int pieces_;
  const int first_piece_;
  const int halvings_;
  const int steps_;
  const int number_;
  const int folded_;  // into this rank, or -1
  const std::vector<int> order_;
  Lane lane_;
};

Lane lane_of(const Shape& shape, int rank, int channel) {
  if (shape.ranks == 1) return lane_of_one(shape, 1, channel);
  if (!Fold(shape.ranks).is_folded(rank)) return Builder(shape, rank, channel).lane();
  // A folded rank gives and takes what its partner takes and gives, in that order.
  const End me = peer(rank);
  const End partner = peer(rank + 1);
  Lane lane;
  for (const Move& move : Builder(shape, rank + 1, channel).lane()) {
    if (std::count(move.sources.begin(), move.sources.end(), me) != 0)
      lane.push_back({move.piece, {input(0)}, {partner}});
    if (std::count(move.destinations.begin(), move.destinations.end(), me) != 0)
      lane.push_back({move.piece, {partner}, {output(0)}});
  }
  return lane;
}

}  // namespace

constinit const Algorithm kHalvingDoubling{
    .name = "halving-doubling",
    .supports = [](base::Collective c) { return c == base::Collective::all_reduce; },
    .pieces = [](const Shape& shape) { return pieces_per_channel(shape) * shape.channels; },
    .lane = lane_of,
};

}  // namespace heddle::collectives
