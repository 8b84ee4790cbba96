#include "simulator/compact_lanes.hpp"

#include "base/error.hpp"

namespace heddle::simulator {
namespace {

using collectives::End;
using Where = collectives::End::Where;

class Compactor {
 public:
  Compactor(int ranks, int channels)
      : ranks_(ranks), channels_(channels), known_(2 * static_cast<std::size_t>(ranks)) {}

  void add(const collectives::Lane& lane, int rank, int channel) {
    ++stamp_;
    lanes_.first_move.push_back(lanes_.moves.size());
    for (const collectives::Move& move : lane) {
      CompactMove compact{};
      compact.piece = static_cast<std::uint32_t>(move.piece);
      compact.first_peer = static_cast<std::uint32_t>(lanes_.peers.size());
      const std::uint32_t sources = add_peers(move.sources, rank, channel, true);
      const std::uint32_t destinations = add_peers(move.destinations, rank, channel, false);
      compact.peer_sources = sources & kMostPeers;
      compact.peer_destinations = destinations & kMostPeers;
      compact.local_sources = locals(move.sources, sources);
      compact.local_destinations = locals(move.destinations, destinations);
      lanes_.moves.push_back(compact);
    }
  }

  CompactLanes take() {
    lanes_.first_move.push_back(lanes_.moves.size());
    return std::move(lanes_);
  }

 private:
  struct Known {
    std::uint32_t stamp = 0;  // of the lane for which the pipe is right
    std::uint32_t pipe = 0;
  };

  static constexpr std::uint32_t kMostPeers = (1U << CompactMove::kPeerBits) - 1;
  static constexpr std::uint32_t kMostLocals = (1U << (32 - CompactMove::kPeerBits)) - 1;

  // How many of the ends are peers.
  std::uint32_t add_peers(const std::vector<End>& ends, int rank, int channel, bool sources) {
    std::uint32_t peers = 0;
    for (const End& end : ends) {
      if (end.where != Where::peer) continue;
      add_peer(end, rank, channel, sources);
      ++peers;
    }
    HEDDLE_ASSERT(peers <= kMostPeers, "{} peers of at most {}", peers, kMostPeers);
    return peers;
  }

  static std::uint32_t locals(const std::vector<End>& ends, std::uint32_t peers) {
    const std::size_t blocks = ends.size() - peers;
    HEDDLE_ASSERT(blocks <= kMostLocals, "{} blocks of at most {}", blocks, kMostLocals);
    return static_cast<std::uint32_t>(blocks) & kMostLocals;
  }

  void add_peer(const End& end, int rank, int channel, bool source) {
    HEDDLE_ASSERT(end.index >= 0 && end.index < ranks_ && end.index != rank, "peer {} of rank {}",
                  end.index, rank);
    Known& known = known_[2 * static_cast<std::size_t>(end.index) + (source ? 1 : 0)];
    if (known.stamp != stamp_) {
      known.stamp = stamp_;
      known.pipe = source ? pipe(end.index, rank, channel) : pipe(rank, end.index, channel);
    }
    lanes_.peers.push_back({known.pipe, end.more ? 1U : 0U});
  }

  std::uint32_t pipe(int from, int to, int channel) {
    const auto lane = [&](int rank) {
      return static_cast<std::uint32_t>(rank * channels_ + channel);
    };
    const std::uint64_t key = std::uint64_t{lane(from)} << 32 | lane(to);
    const auto [found, added] =
        pipes_.try_emplace(key, static_cast<std::uint32_t>(lanes_.pipes.size()));
    if (added) lanes_.pipes.push_back({lane(from), lane(to)});
    return found->second;
  }

  int ranks_;
  int channels_;
  std::vector<Known> known_;
  std::uint32_t stamp_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> pipes_;
  CompactLanes lanes_;
};

}  // namespace

CompactLanes compact(const LaneSource& source, int ranks, int channels) {
  Compactor compactor(ranks, channels);
  for (int rank = 0; rank < ranks; ++rank)
    for (int channel = 0; channel < channels; ++channel)
      compactor.add(source(rank, channel), rank, channel);
  return compactor.take();
}

}  // namespace heddle::simulator
