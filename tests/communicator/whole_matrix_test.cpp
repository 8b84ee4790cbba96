// What the matrix leaves out to stay short: types, operations, counts and places that there take
// turns are multiplied out here, and every algorithm carries millions of elements.
#include "catch.hpp"
#include "matrix.hpp"

namespace heddle::test {
using base::Collective;

TEST_CASE("odd-counts: the whole product of types, operations, places, counts and ranks") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        for (const Collective collective : every_collective())
          for (const int root : roots(collective, ranks))
            for_types_and_ops(collective, [&](base::DataType type, base::RedOp op) {
              for (const std::size_t count : small_counts(ranks))
                check_both(communicator, {collective, type, op, ranks, count, root});
            });
      },
      "HEDDLE_LOG=error");
}

TEST_CASE("odd-counts: 1 Mi + 1 elements of every type and operation") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(ranks, [&](Communicator& communicator, int) {
    for (const Collective collective : every_collective())
      for_types_and_ops(collective, [&](base::DataType type, base::RedOp op) {
        check_both(communicator,
                   {collective, type, op, ranks, (std::size_t{1} << 20) + 1, ranks / 2});
      });
  });
}

TEST_CASE("odd-counts: 10556587 elements by every algorithm, collective and carrier") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int ranks = GENERATE(2, 3);
  by_every_algorithm(ranks, how, [&](Communicator& communicator, const auto& some, std::size_t) {
    for (const Collective collective : some)
      check_both(communicator, {collective, heddleFloat32, heddleSum, ranks, 10556587, 1});
  });
}

}  // namespace heddle::test
