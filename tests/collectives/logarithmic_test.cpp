// What the proof does not say of the algorithms with few steps and of the hierarchical ones: how
// many messages a rank sends, how much, and to whom.
#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "collectives/schedule.hpp"
#include "proof_shapes.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kAllGather = base::Collective::all_gather;

struct Sent {
  int messages = 0;
  int chunks = 0;
  std::set<int> peers;
};

// What a lane sends to the peers that `counts` accepts.
template <typename Counts>
Sent sent(const Lane& lane, Counts counts) {
  Sent sum;
  for (const Move& move : lane)
    for (const End& end : move.destinations)
      if (end.where == End::Where::peer && counts(end.index)) {
        ++sum.chunks;
        sum.messages += end.more ? 0 : 1;
        sum.peers.insert(end.index);
      }
  return sum;
}
Sent sent(std::string_view name, const Shape& shape, int rank) {
  return sent(algorithm_named(name)->lane(shape, rank, 0), [](int) { return true; });
}

int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

TEST_CASE("aggregated trees and Bruck: a message a step, a logarithm of them") {
  for (int ranks = 2; ranks <= 40; ++ranks)
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto collective : {kAllGather, base::Collective::reduce_scatter}) {
        const Sent trees = sent("pat", {collective, ranks, 1}, rank);
        CHECK(trees.messages == ceil_log2(ranks));
        CHECK(trees.chunks == ranks - 1);  // the least that is possible
      }
      const Sent bruck = sent("bruck", {base::Collective::all_to_all, ranks, 1}, rank);
      CHECK(bruck.messages == ceil_log2(ranks));
      CHECK(bruck.chunks <= ceil_log2(ranks) * (ranks / 2));
    }
}

TEST_CASE("aggregated trees: far ranks get one block, near ranks half of all") {
  const Lane lane = algorithm_named("pat")->lane({kAllGather, 32, 1}, 5, 0);
  for (int step = 1; step < 32; step *= 2)
    CHECK(sent(lane, [&](int peer) { return peer == (5 + step) % 32; }).chunks == 16 / step);
}

TEST_CASE("recursive doubling: a power of two takes a logarithm of messages") {
  for (const int ranks : {2, 4, 8, 64})
    for (int rank = 0; rank < ranks; ++rank)
      for (const auto collective : {kAllReduce, kAllGather})
        CHECK(sent("recursive-doubling", {collective, ranks, 1}, rank).messages ==
              ceil_log2(ranks));
  // Others fold: two more steps, one of which a rank of the core sends in.
  for (const int ranks : {3, 5, 6, 7, 63, 65}) {
    const int core = ceil_log2(ranks) - 1;
    int most = 0;
    for (int rank = 0; rank < ranks; ++rank)
      most = std::max(most, sent("recursive-doubling", {kAllReduce, ranks, 1}, rank).messages);
    CHECK(most == core + 1);
  }
}

TEST_CASE("recursive doubling adds the lower rank's sum first") {
  for (int rank = 0; rank < 8; ++rank)
    for (const Move& move :
         algorithm_named("recursive-doubling")->lane({kAllReduce, 8, 1}, rank, 0))
      if (move.sources.size() == 2) {
        const bool partner_first = move.sources[0].where == End::Where::peer;
        const int partner = move.sources[partner_first ? 0 : 1].index;
        CHECK(partner_first == (partner < rank));
      }
}

TEST_CASE("halving and doubling: as many bytes as a ring up to 16 ranks, in fewer messages") {
  for (const int ranks : {4, 8, 16})
    for (int rank = 0; rank < ranks; ++rank) {
      const Shape shape{kAllReduce, ranks, 1};
      const int pieces = algorithm_named("halving-doubling")->pieces(shape);
      const Sent halving = sent("halving-doubling", shape, rank);
      // Chunks are 1 / pieces of the message, a ring's 1 / ranks.
      CHECK(halving.chunks * ranks == 2 * (ranks - 1) * pieces);
      CHECK(halving.messages < 2 * (ranks - 1));
    }
  // K - q = 4 exchanges of an eighth beyond the 2 * 7 / 8.
  CHECK(sent("halving-doubling", {kAllReduce, 128, 1}, 77).chunks == 14 + 4);
}

TEST_CASE("a chain talks to its neighbours, a binomial tree to a logarithm of ranks") {
  for (const auto collective : {base::Collective::broadcast, base::Collective::reduce})
    for (int rank = 0; rank < 11; ++rank) {
      const Sent chain = sent("chain", {collective, 11, 1, 4}, rank);
      for (const int peer : chain.peers)
        CHECK((peer == (rank + 1) % 11 || peer == (rank + 10) % 11));
    }
  for (const int ranks : {2, 3, 8, 33})
    for (const int root : {0, ranks - 1}) {
      const Shape shape{base::Collective::scatter, ranks, 1, root};
      const Sent scatter = sent("binomial", shape, root);
      CHECK(scatter.messages == ceil_log2(ranks));
      CHECK(scatter.chunks == ranks - 1);
    }
}

TEST_CASE("hierarchical: only equal local ranks talk between hosts") {
  for (const Algorithm& algorithm : algorithms())
    for (const int ranks : {8, 12, 24})
      for (const Shape& shape : shapes_of(algorithm, ranks, 1)) {
        const int local = shape.ranks_per_host;
        if (local == 0) continue;
        for (int rank = 0; rank < ranks; ++rank) {
          INFO(algorithm.name << ", " << ranks << " ranks, " << local << " a host, rank " << rank);
          const auto is_far = [&](int peer) { return peer / local != rank / local; };
          const Sent far = sent(algorithm.lane(shape, rank, 0), is_far);
          for (const int peer : far.peers) CHECK(peer % local == rank % local);
        }
      }
}

TEST_CASE("hierarchical: between hosts goes what the outer algorithm sends, and no more") {
  const Algorithm& algorithm = *algorithm_named("hierarchical:one-shot+ring");
  for (const auto collective : {kAllReduce, kAllGather, base::Collective::reduce_scatter}) {
    const Shape shape{collective, 24, 1, 0, 8};
    const Shape between{collective, 3, 1};
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const Lane lane = algorithm.lane(shape, rank, 0);
      const Sent far = sent(lane, [&](int peer) { return peer / 8 != rank / 8; });
      CHECK(far.chunks == sent("ring", between, rank / 8).chunks);
      const Sent near = sent(lane, [&](int peer) { return peer / 8 == rank / 8; });
      CHECK(near.chunks == (collective == kAllReduce ? 2 : 1) * 7 * 3);
    }
  }
}

TEST_CASE("hierarchical: every two algorithms that go together are a pair, and no others") {
  std::set<std::string> expected;
  for (const std::string inner : {"ring", "one-shot"})
    for (const std::string outer : {"ring", "tree", "one-shot", "two-shot", "star",
                                    "recursive-doubling", "halving-doubling", "pat"})
      expected.insert("hierarchical:" + inner + "+" + outer);
  std::set<std::string> found;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name.find(':') == std::string_view::npos) continue;
    CHECK(found.insert(std::string(algorithm.name)).second);
    const std::string_view outer = algorithm.name.substr(algorithm.name.find('+') + 1);
    for (const auto collective : {kAllReduce, kAllGather, base::Collective::reduce_scatter})
      CHECK(algorithm.supports(collective) == algorithm_named(outer)->supports(collective));
    CHECK(!algorithm.supports(base::Collective::broadcast));
  }
  CHECK(found == expected);
}

TEST_CASE("hierarchical: a lane among many hosts is short") {
  const Shape shape{kAllReduce, 16384, 1, 0, 8};
  for (const int rank : {0, 1, 8191, 16383})
    CHECK(algorithm_named("hierarchical")->lane(shape, rank, 0).size() < 400);
}

}  // namespace
}  // namespace heddle::collectives
