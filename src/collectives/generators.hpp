// The algorithms, one a file. Outside this folder they are found by name (schedule.hpp).
#pragma once

#include "collectives/schedule.hpp"

namespace heddle::collectives {

extern const Algorithm kRing;
extern const Algorithm kTree;
extern const Algorithm kOneShot;
extern const Algorithm kTwoShot;
extern const Algorithm kStar;
extern const Algorithm kPairwise;
extern const Algorithm kRecursiveDoubling;
extern const Algorithm kHalvingDoubling;
extern const Algorithm kAggregatedTrees;
extern const Algorithm kBruck;
extern const Algorithm kBinomial;
extern const Algorithm kChain;

template <const Algorithm&... Each>
struct AlgorithmList {};
// In the order of preference for ties.
using FlatAlgorithms =
    AlgorithmList<kRing, kTree, kOneShot, kTwoShot, kStar, kPairwise, kRecursiveDoubling,
                  kHalvingDoubling, kAggregatedTrees, kBruck, kBinomial, kChain>;
// "hierarchical", and "hierarchical:INNER+OUTER" for all pairs of the above that go together.
std::span<const Algorithm> hierarchies();

// A world of one contacts nobody: every piece of the channel from the input to the output. The
// single contribution is complete where it is read.
inline Lane lane_of_one(const Shape& shape, int pieces_per_channel, int channel) {
  Lane lane;
  for (int i = 0; i < pieces_per_channel; ++i)
    lane.push_back({.piece = channel * pieces_per_channel + i,
                    .sources = {input(0)},
                    .destinations = {output(0)},
                    .completes = base::reduces(shape.collective)});
  return lane;
}

// Makes one message of all that the lane sends to a peer in a round, and of all that it receives
// from one.
Lane packed(Lane lane);

}  // namespace heddle::collectives
