// Every generator is proved for every number of ranks up to 64, and for larger primes, powers of
// two and their neighbours.
#include <vector>

#include "catch.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"

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
                              << " ranks, " << shape.channels << " channels"
                              << (in_place ? ", in place" : "") << ": " << name_of(fault->kind)
                              << ": " << fault->text << "\n"
                              << (fault->rank >= 0 ? to_text(shape, algorithm, fault->rank) : ""));
  }
}

void prove_all(int ranks, int channels, int rounds) {
  for (const Algorithm& algorithm : algorithms())
    for (int c = 0; c < base::kCollectives; ++c)
      if (const auto collective = static_cast<base::Collective>(c); algorithm.supports(collective))
        prove(algorithm, {collective, ranks, channels}, rounds);
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
      for (int c = 0; c < base::kCollectives; ++c) {
        const auto collective = static_cast<base::Collective>(c);
        if (!algorithm.supports(collective)) continue;
        INFO(algorithm.name << " " << base::name_of(collective) << " " << ranks);
        const int needed = slots_needed(schedule_of(algorithm, {collective, ranks, 1}));
        CHECK(needed >= 1);
        CHECK(needed <= (algorithm.name == "one-shot" ? 1 : 2));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
