// How a message is cut: rounds of equal segments, a segment into pieces that fit a slot. Every rank
// computes the same from the same four numbers, so nothing about sizes crosses the network.
#pragma once

#include <algorithm>
#include <cstddef>

namespace heddle::collectives {

// Pieces begin on cache lines (of an aligned buffer), so that two channels never share one and the
// vector kernels have no ragged ends in the middle of a message.
inline constexpr std::size_t kPieceAlign = 64;  // bytes

// What each of the chunks that share a message may have. Less than a piece's alignment is of no
// use: where the parts do not fit, the schedule cannot run in such messages.
constexpr std::size_t chunk_limit(std::size_t message_bytes, int parts) {
  return std::max(message_bytes / static_cast<std::size_t>(parts), kPieceAlign);
}
constexpr std::size_t least_message(int parts) {
  return static_cast<std::size_t>(parts) * kPieceAlign;
}
constexpr bool parts_fit(std::size_t message_bytes, int parts) {
  return message_bytes >= least_message(parts);
}

struct Rounds {
  std::size_t rounds;   // 0 when there is nothing to move
  std::size_t segment;  // elements of a block that one round covers
  std::size_t piece;    // elements of a piece; the last pieces of a segment may have fewer or none
};

struct Chunk {
  std::size_t offset;  // elements from the start of the block
  std::size_t count;   // elements; 0 when the message is too short to reach this piece
};

// Cuts blocks of `count` elements of `element_bytes` (a power of two up to 64). Requires pieces >=
// 1 and slot_bytes >= kPieceAlign.
constexpr Rounds cut_into_rounds(std::size_t count, std::size_t element_bytes, std::size_t pieces,
                                 std::size_t slot_bytes) {
  if (count == 0) return {0, 0, 0};
  // Neither helper can overflow near the top of size_t, where (a + b - 1) would.
  const auto divide_up = [](std::size_t a, std::size_t b) { return a / b + (a % b != 0 ? 1 : 0); };
  const std::size_t grain = kPieceAlign / element_bytes;
  const auto align_up = [&](std::size_t n) { return divide_up(n, grain) * grain; };
  const std::size_t most = pieces * (slot_bytes / kPieceAlign * grain);
  // Equal rounds: a short last one would leave the pipes half empty for the price of a full one.
  const std::size_t segment = align_up(divide_up(count, divide_up(count, most)));
  return {divide_up(count, segment), segment, align_up(divide_up(segment, pieces))};
}

constexpr Chunk chunk_of(const Rounds& cut, std::size_t count, std::size_t round,
                         std::size_t piece) {
  const std::size_t start = round * cut.segment;
  const std::size_t covered = std::min(cut.segment, count - start);
  const std::size_t within = std::min(piece * cut.piece, covered);
  return {start + within, std::min(cut.piece, covered - within)};
}

}  // namespace heddle::collectives
