// The lanes of all ranks and channels in flat arrays, with their pipes: 16 bytes a move and 4 for
// each of its peers, so that those of 16,384 ranks fit in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "collectives/schedule.hpp"
#include "simulator/large_array.hpp"

namespace heddle::simulator {

struct CompactMove {
  static constexpr int kPeerBits = 20;

  std::uint32_t piece;
  std::uint32_t first_peer;  // index into CompactLanes::peers: sources, then destinations
  // A rank may have every other for a peer at once, and has few blocks in one move.
  std::uint32_t peer_sources : kPeerBits;
  std::uint32_t local_sources : 32 - kPeerBits;
  std::uint32_t peer_destinations : kPeerBits;
  std::uint32_t local_destinations : 32 - kPeerBits;
};
static_assert(sizeof(CompactMove) == 16);

// A pipe that a move reads or writes, and whether its message goes on.
struct CompactPeer {
  std::uint32_t pipe : 31;
  std::uint32_t more : 1;
};

struct PipeEnds {
  std::uint32_t from;  // lanes
  std::uint32_t to;
};

// Lane number = rank * channels + channel.
struct CompactLanes {
  std::vector<std::uint64_t> first_move;  // of each lane, and the number of all moves
  LargeArray<CompactMove> moves;
  LargeArray<CompactPeer> peers;
  std::vector<PipeEnds> pipes;
};

using LaneSource = std::function<collectives::Lane(int rank, int channel)>;

// Asks for one lane at a time and keeps none of them. Requires fewer than 2^20 ranks, and moves of
// fewer than 2^12 blocks.
CompactLanes compact(const LaneSource& source, int ranks, int channels);

}  // namespace heddle::simulator
