// Every generator is proved for every number of ranks up to 64, and for larger primes, powers of
// two and their neighbours.
#include <set>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "proof_shapes.hpp"
#include "prove.hpp"

namespace heddle::collectives {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A sanitizer makes this ten times slower and has nothing new to see in the largest.
constexpr int kEvery = 32;
const std::vector<int> kLarge = {64, 127};
#else
constexpr int kEvery = 64;
const std::vector<int> kLarge = {127, 128, 251, 256, 509, 512};
#endif

TEST_CASE("every schedule is right for 1 to 64 ranks and 1 to 4 channels with two slots") {
  for (int ranks = 1; ranks <= kEvery; ++ranks)
    for (int channels = 1; channels <= 4; ++channels) {
      // The lanes of a channel are the same, but for their pieces and perhaps a centre, however
      // many channels there are: one number of them is enough for many ranks.
      if (ranks > 12 && channels != 1 + ranks % 4) continue;
      for (const Algorithm& algorithm : algorithms())
        for (const Shape& shape : shapes_of(algorithm, ranks, channels))
          prove(algorithm, shape, schedule_of(algorithm, shape), 3);
    }
}

TEST_CASE("rings and trees are right for 1 to 64 ranks on every number of channels") {
  for (const char* name : {"ring", "tree"})
    for (int ranks = 1; ranks <= kEvery; ++ranks)
      for (int channels = 1; channels <= 4; ++channels) {
        const Algorithm& algorithm = *algorithm_named(name);
        for (const Shape& shape : shapes_of(algorithm, ranks, channels))
          prove(algorithm, shape, schedule_of(algorithm, shape), 3);
      }
}

TEST_CASE("every schedule is right for larger primes and powers of two") {
  for (const int ranks : kLarge)
    for (const Algorithm& algorithm : algorithms())
      for (const Shape& shape : shapes_of(algorithm, ranks, 1)) {
        // Ranks times ranks moves: of the largest, rings alone; whole_proofs_test.cpp has them all.
        const bool moves_many =
            algorithm.lane(shape, 0, 0).size() >= static_cast<std::size_t>(ranks);
        if (ranks > 256 && moves_many && algorithm.name != "ring") continue;
        prove(algorithm, shape, schedule_of(algorithm, shape), 2);
      }
}

TEST_CASE("no schedule needs more than two slots, and those that say so need one") {
  const std::set<std::string_view> need_one{"one-shot", "star",  "pairwise", "recursive-doubling",
                                            "pat",      "bruck", "binomial", "chain"};
  for (int ranks = 1; ranks <= 24; ++ranks) {
    for (const Algorithm& algorithm : algorithms()) {
      for (const Shape& shape : shapes_of(algorithm, ranks, 1, 1)) {
        INFO(algorithm.name << " " << base::name_of(shape.collective) << " " << ranks);
        const int needed = slots_needed(schedule_of(algorithm, shape));
        CHECK(needed >= 1);
        CHECK(needed <= (need_one.contains(algorithm.name) ? 1 : 2));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
