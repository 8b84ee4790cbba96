// Every algorithm x collective x type x op x in/out of place x count x ranks x channels, stepped on
// one thread in a seeded random order.
#include <fmt/format.h>

#include <set>

#include "catch.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr base::Collective kAllCollectives[] = {
    base::Collective::all_reduce, base::Collective::all_gather, base::Collective::reduce_scatter};

std::set<std::size_t> small_counts(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return {0, 1, 2, n - 1, n, n + 1, 13, 67, 257};
}

struct Tally {
  std::size_t operations = 0;
  std::uint64_t messages = 0;
  std::uint64_t in_place = 0;
};

class Matrix {
 public:
  explicit Matrix(const WireOptions& options) : options_(options) {}

  // Calls cases(operate) with a function that runs one operation on the world's ranks.
  template <typename Cases>
  void for_each_world(const std::vector<int>& rank_counts, const std::vector<int>& channel_counts,
                      Cases cases) {
    for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
      for (const base::Collective collective : kAllCollectives) {
        for (const int ranks : rank_counts) {
          for (const int channels : channel_counts) {
            const collectives::Shape shape{collective, ranks, channels, 0, ranks % 2 == 0 ? 2 : 0};
            if (!can_do(algorithm, shape)) continue;
            options_.seed += 101;
            options_.slots = 4 + static_cast<int>(options_.seed % 5);
            World world(algorithm, shape, options_);
            cases(ranks,
                  [&](base::DataType type, base::RedOp op, std::size_t count, bool in_place) {
                    operate(world, algorithm.name, channels, {collective, type, op, ranks, count},
                            in_place);
                  });
            tally_.messages += world.messages();
            tally_.in_place += world.sent_in_place();
          }
        }
      }
    }
  }

  const Tally& tally() const { return tally_; }

 private:
  void operate(World& world, std::string_view algorithm, int channels, const Operation& operation,
               bool in_place) {
    const bool gathers = operation.collective == base::Collective::all_gather;
    if (gathers && operation.op != heddleSum) return;
    const auto seed = options_.seed + static_cast<std::uint32_t>(tally_.operations);
    const std::size_t misaligned = seed % 3;
    const std::string wrong = world.run(operation, in_place, misaligned, stepped(seed));
    ++tally_.operations;
    if (wrong.empty()) return;
    FAIL(fmt::format("{} {} {} {}, {} ranks, {} channels, count {}{}, seed {}: {}", algorithm,
                     base::name_of(operation.collective), base::name_of(operation.type),
                     base::name_of(operation.op), operation.ranks, channels, operation.count,
                     in_place ? ", in place" : "", seed, wrong));
  }

  WireOptions options_;
  Tally tally_;
};

base::DataType type_at(std::size_t i) { return static_cast<base::DataType>(i % heddleNumTypes); }
base::RedOp op_at(std::size_t i) { return static_cast<base::RedOp>(i % heddleNumOps); }

}  // namespace

TEST_CASE("matrix: every type and operation at small counts") {
  const bool zero_copy = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = zero_copy});
  matrix.for_each_world({1, 2, 3, 4, 5, 8}, {1, 2, 4}, [](int ranks, auto operate) {
    for (std::size_t type = 0; type < heddleNumTypes; ++type) {
      for (std::size_t op = 0; op < heddleNumOps; ++op) {
        for (const std::size_t count : small_counts(ranks)) {
          operate(type_at(type), op_at(op), count, false);
          operate(type_at(type), op_at(op), count, true);
        }
      }
    }
  });
  REQUIRE(matrix.tally().operations > 50'000);
  REQUIRE((matrix.tally().in_place > 0) == zero_copy);
}

TEST_CASE("matrix: messages of many rounds") {
  const bool zero_copy = GENERATE(false, true);
  const bool reluctant = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = reluctant});
  std::size_t turn = 0;
  matrix.for_each_world({2, 3, 4, 5, 8}, {1, 2, 4}, [&](int, auto operate) {
    // Types and operations take turns; 10 and 5 are not prime to each other, hence the division.
    ++turn;
    for (const bool in_place : {false, true}) {
      operate(type_at(turn), op_at(turn / 10 + turn), 10'007, in_place);
    }
    operate(heddleFloat32, heddleSum, 10'007, turn % 2 == 0);
    if (turn % 4 == 0) operate(type_at(turn / 4), op_at(turn / 40 + turn), 100'003, turn % 8 == 0);
  });
  REQUIRE(matrix.tally().operations > 300);
  // Otherwise nothing was sent in rounds.
  REQUIRE(matrix.tally().messages > 100 * matrix.tally().operations);
  REQUIRE((matrix.tally().in_place > 0) == zero_copy);
}
