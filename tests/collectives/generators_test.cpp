// What the proof does not say: who talks to whom, how much, and in which order sums are made.
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;

int sends(const Lane& lane) {
  int count = 0;
  for (const Move& move : lane)
    for (const End& end : move.destinations) count += end.where == End::Where::peer ? 1 : 0;
  return count;
}

std::set<int> peers(const Lane& lane) {
  std::set<int> all;
  for (const Move& move : lane)
    for (const auto* ends : {&move.sources, &move.destinations})
      for (const End& end : *ends)
        if (end.where == End::Where::peer) all.insert(end.index);
  return all;
}

TEST_CASE("algorithms are found by their names") {
  for (const Algorithm& algorithm : algorithms())
    CHECK(algorithm_named(algorithm.name)->lane == algorithm.lane);
  for (const char* name : {"ring", "tree", "one-shot", "two-shot", "star"})
    CHECK(algorithm_named(name));
  CHECK(algorithm_named("Ring") == nullptr);
  CHECK(algorithm_named("") == nullptr);
}

TEST_CASE("world of one: no peer is contacted, every piece is copied once") {
  for (const Algorithm& algorithm : algorithms()) {
    for (int c = 0; c < base::kCollectives; ++c) {
      const Shape shape{static_cast<base::Collective>(c), 1, 2};
      if (!can_do(algorithm, shape)) continue;
      const int pieces = algorithm.pieces(shape);
      for (int channel = 0; channel < shape.channels; ++channel) {
        const Lane lane = algorithm.lane(shape, 0, channel);
        CHECK(peers(lane).empty());
        CHECK(lane.size() * 2 == static_cast<std::size_t>(pieces));
      }
    }
  }
}

TEST_CASE("a ring talks to its neighbours and sends the least that is possible") {
  for (const int ranks : {2, 3, 8, 13}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const Lane lane = algorithm_named("ring")->lane({kAllReduce, ranks, 1}, rank, 0);
      CHECK(peers(lane) == std::set<int>{(rank + 1) % ranks, (rank + ranks - 1) % ranks});
      CHECK(sends(lane) == 2 * (ranks - 1));  // of a round's `ranks` pieces
    }
  }
}

TEST_CASE("one-shot, two-shot and star reduce in the order of the ranks") {
  for (const char* name : {"one-shot", "two-shot", "star"}) {
    const Shape shape{kAllReduce, 6, 1};
    for (int rank = 0; rank < shape.ranks; ++rank) {
      int reductions = 0;
      for (const Move& move : algorithm_named(name)->lane(shape, rank, 0)) {
        if (move.sources.size() == 1) continue;
        ++reductions;
        for (int q = 0; q < shape.ranks; ++q)
          CHECK(move.sources[static_cast<std::size_t>(q)] == (q == rank ? input(0) : peer(q)));
      }
      // Of a star the root alone reduces.
      CHECK(reductions == (name == std::string_view("star") && rank != 0 ? 0 : 1));
    }
  }
}

TEST_CASE("two-shot sends to different ranks at the same time") {
  const Shape shape{kAllReduce, 7, 1};
  for (std::size_t step = 0; step < 6; ++step) {
    std::set<int> receivers;
    for (int rank = 0; rank < shape.ranks; ++rank)
      receivers.insert(
          algorithm_named("two-shot")->lane(shape, rank, 0)[step].destinations[0].index);
    CHECK(receivers.size() == 7);
  }
}

// Children and parent of a rank in one tree, read off its lane.
struct Role {
  std::size_t children = 0;
  int parent = -1;
};

Role role_in(const Shape& shape, int rank, int tree) {
  for (const Move& move : algorithm_named("tree")->lane(shape, rank, 0)) {
    if (move.piece % 2 != tree) continue;
    if (std::find(move.sources.begin(), move.sources.end(), input(0)) == move.sources.end())
      continue;  // a broadcast
    const bool is_root = move.completes;
    return {move.sources.size() - 1, is_root ? -1 : move.destinations[0].index};
  }
  return {};
}

TEST_CASE("double binary tree: an inner rank of one tree is a leaf of the other") {
  for (int ranks = 2; ranks <= 130; ++ranks) {
    const Shape shape{kAllReduce, ranks, 1};
    int roots = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Role roles[2] = {role_in(shape, rank, 0), role_in(shape, rank, 1)};
      CHECK((roles[0].children == 0 || roles[1].children == 0));
      for (int tree = 0; tree < 2; ++tree) {
        CHECK(roles[tree].children <= 2);
        roots += roles[tree].parent == -1 ? 1 : 0;
      }
    }
    CHECK(roots == 2);
  }
}

TEST_CASE("double binary tree: no rank is deeper than the logarithm of the ranks") {
  for (const int ranks : {2, 3, 7, 8, 9, 31, 32, 33, 100, 128}) {
    const Shape shape{kAllReduce, ranks, 1};
    for (int tree = 0; tree < 2; ++tree) {
      for (int rank = 0; rank < ranks; ++rank) {
        int depth = 0;
        for (int at = role_in(shape, rank, tree).parent; at >= 0;
             at = role_in(shape, at, tree).parent)
          ++depth;
        INFO(ranks << " ranks, tree " << tree << ", rank " << rank);
        CHECK((1 << depth) <= ranks);
      }
    }
  }
}

TEST_CASE("a schedule can be read") {
  CHECK(to_text({base::Collective::all_reduce, 2, 1}, *algorithm_named("ring"), 1) ==
        "ring all-reduce: rank 1 of 2, 2 pieces\n"
        "channel 0\n"
        "    0 piece 0: input 0 -> peer 0\n"
        "    1 piece 1: peer 0 + input 0 -> output 0, peer 0 (completes)\n"
        "    2 piece 0: peer 0 -> output 0\n");
}

}  // namespace
}  // namespace heddle::collectives
