// Every generator is proved for every number of ranks up to 64, and for larger primes, powers of
// two and their neighbours.
#include <vector>

#include "catch.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"
#include "shapes.hpp"

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

void prove(const Algorithm& algorithm, const Shape& shape, int rounds) {
  const Schedule schedule = schedule_of(algorithm, shape);
  for (const bool in_place : {false, true}) {
    const auto fault = verify(schedule, {.slots = 2, .rounds = rounds, .in_place = in_place});
    if (!fault) continue;
    FAIL_CHECK(algorithm.name << " " << base::name_of(shape.collective) << ", " << shape.ranks
                              << " ranks, " << shape.channels << " channels, root " << shape.root
                              << ", " << shape.ranks_per_host << " ranks a host"
                              << (in_place ? ", in place" : "") << ": " << name_of(fault->kind)
                              << ": " << fault->text << "\n"
                              << (fault->rank >= 0 ? to_text(shape, algorithm, fault->rank) : ""));
  }
}

void prove_all(int ranks, int channels, int rounds) {
  for (const Algorithm& algorithm : algorithms())
    for (const Shape& shape : shapes_of(algorithm, ranks, channels))
      prove(algorithm, shape, rounds);
}

TEST_CASE("every schedule is right for 1 to 64 ranks and 1 to 4 channels with two slots") {
  for (int ranks = 1; ranks <= kEvery; ++ranks)
    for (int channels = 1; channels <= 4; ++channels) prove_all(ranks, channels, 3);
}

TEST_CASE("every schedule is right for larger primes and powers of two") {
  for (const int ranks : kLarge) prove_all(ranks, 1, 2);
}

TEST_CASE("no schedule needs more than two slots, and one-shot needs one") {
  for (int ranks = 1; ranks <= kEvery; ++ranks) {
    for (const Algorithm& algorithm : algorithms()) {
      for (const Shape& shape : shapes_of(algorithm, ranks, 1, 1)) {
        INFO(algorithm.name << " " << base::name_of(shape.collective) << " " << ranks);
        const int needed = slots_needed(schedule_of(algorithm, shape));
        CHECK(needed >= 1);
        CHECK(needed <= (algorithm.name == "one-shot" ? 1 : 2));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
