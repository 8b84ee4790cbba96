// A collective as data. An algorithm is a pure function from (shape, rank, channel) to a lane of
// moves; the executor runs lanes, the verifier proves them, the simulator times them.
//
// A buffer holds blocks of `count` elements (base::input_blocks, base::output_blocks). A message
// runs as rounds: one round covers the same segment of every block, cut into `pieces` chunks. A
// lane describes one round; rounds follow each other without a barrier. Channel c owns the c-th of
// `channels` equal ranges of pieces and touches no other. A chunk that is empty because the message
// is short is skipped by every rank that would have touched it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace heddle::collectives {

// Where a move reads or writes: a block of a local buffer, or the pipe from or to a rank.
struct End {
  enum class Where : std::uint8_t { input, output, peer };
  Where where;
  int index;  // block of the buffer, or rank of the peer
  // Of a peer: the message goes on with the next chunk that this lane moves to, or from, the peer.
  // So several blocks travel as one message; all its chunks are of one piece, and the receiver has
  // it when the last was written.
  bool more = false;

  bool operator==(const End&) const = default;
};

constexpr End input(int block) { return {End::Where::input, block}; }
constexpr End output(int block) { return {End::Where::output, block}; }
constexpr End peer(int rank, bool more = false) { return {End::Where::peer, rank, more}; }

// The one kind of move: read chunk `piece` from every source, reduce in the listed order, write the
// result to every destination, in one pass over memory.
struct Move {
  int piece;
  std::vector<End> sources;
  std::vector<End> destinations;
  // The result holds every rank's contribution for the first time: the place where avg divides.
  bool completes = false;
};

using Lane = std::vector<Move>;

// What an algorithm is asked for.
struct Shape {
  base::Collective collective;
  int ranks;
  int channels;
  int root = 0;  // where base::has_root
  // Rank r is on host r / ranks_per_host, which divides `ranks`; 0 when the hosts are not known or
  // not alike.
  int ranks_per_host = 0;

  bool operator==(const Shape&) const = default;
};

constexpr int input_blocks(const Shape& shape, int rank) {
  return base::input_blocks(shape.collective, shape.ranks, rank, shape.root);
}
constexpr int output_blocks(const Shape& shape, int rank) {
  return base::output_blocks(shape.collective, shape.ranks, rank, shape.root);
}

struct Algorithm {
  std::string_view name;
  bool (*supports)(base::Collective);
  // Chunks of one round, over all channels: a multiple of the number of channels.
  int (*pieces)(const Shape&);
  // The moves of one rank on one channel, in order. Requires supports(), 1 <= ranks,
  // 0 <= rank < ranks, 0 <= channel < channels.
  Lane (*lane)(const Shape&, int rank, int channel);
  // The most chunks that one message of any rank has (End::more).
  int (*parts)(const Shape&) = [](const Shape&) { return 1; };
  // Whether it can do this shape, of a collective that it supports.
  bool (*fits)(const Shape&) = [](const Shape&) { return true; };
  // Every move has an input or output end, so that blocks may have different lengths.
  bool uneven = false;
};

inline bool can_do(const Algorithm& algorithm, const Shape& shape) {
  return algorithm.supports(shape.collective) && algorithm.fits(shape);
}

// The lanes of all ranks, lanes[rank][channel], from an algorithm or from anywhere else.
struct Schedule {
  Shape shape;
  int pieces;  // of one round, over all channels
  std::vector<std::vector<Lane>> lanes;
  int parts = 1;  // the most chunks of one message
};

// Requires that the algorithm supports the collective, and at least one rank and one channel.
Schedule schedule_of(const Algorithm& algorithm, const Shape& shape);

// All algorithms, in the order of preference for ties.
std::span<const Algorithm> algorithms();
// Null when there is none of that name; "_" counts as "-".
const Algorithm* algorithm_named(std::string_view name);

}  // namespace heddle::collectives
