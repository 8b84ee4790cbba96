// Every type, operation, placement and count over the real transports (case odd-counts).
#include <string>
#include <vector>

#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr base::Collective kCollectives[] = {
    base::Collective::all_reduce, base::Collective::all_gather, base::Collective::reduce_scatter};

const std::vector<base::RedOp> kEveryOp = {heddleSum, heddleProd, heddleMax, heddleMin, heddleAvg};

// The model's inputs are such that eight of them add up to what these hold exactly.
bool holds_sum_of(int ranks, base::DataType type) {
  return ranks <= 8 || (type != heddleUint8 && type != heddleBfloat16);
}

// Every type, the given operations and counts, out of place and in place if asked; all ranks walk
// the list in the same order.
void check_all(Communicator& communicator, base::Collective collective,
               const std::vector<std::size_t>& counts,
               const std::vector<base::RedOp>& ops = kEveryOp, bool in_place_too = true) {
  const int ranks = communicator.size();
  for (int number = 0; number < heddleNumTypes; ++number)
    for (const base::RedOp op : ops) {
      const auto type = static_cast<base::DataType>(number);
      if (!base::reduces(collective) && op != ops.front()) continue;
      if ((op == heddleSum || op == heddleAvg) && !holds_sum_of(ranks, type)) continue;
      for (const std::size_t count : counts)
        for (const bool in_place : {false, true})
          if (!in_place || in_place_too)
            check_operation(communicator, {collective, type, op, ranks, count}, in_place);
    }
}

std::vector<std::size_t> small_counts(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts = {0, 1, 2, n - 1, n, n + 1, 2 * n + 1, 13, 127, 1009};
  return counts;
}

}  // namespace

TEST_CASE("odd-counts: every type and operation is right by every algorithm") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  const std::string algorithm = GENERATE("ring", "tree", "one-shot", "two-shot", "star");
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        for (const auto collective : kCollectives)
          check_all(communicator, collective, small_counts(ranks));
      },
      "HEDDLE_LOG=error HEDDLE_ALGO=" + algorithm);
}

TEST_CASE("odd-counts: ranks between and beyond, by every algorithm") {
  const int ranks = GENERATE(6, 7, 9);
  const std::string algorithm = GENERATE("ring", "tree", "one-shot", "two-shot", "star");
  const auto n = static_cast<std::size_t>(ranks);
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        for (const auto collective : kCollectives)
          check_all(communicator, collective, {n - 1, n + 1, 2 * n + 1}, {heddleMin, heddleSum});
      },
      "HEDDLE_LOG=error HEDDLE_ALGO=" + algorithm);
}

TEST_CASE("odd-counts: several rounds and channels") {
  const int ranks = GENERATE(2, 3, 5);
  const std::string algorithm = GENERATE("ring", "tree", "two-shot", "star");
  const std::string channels = GENERATE("1", "3");
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        for (const auto collective : kCollectives)
          for (const std::size_t count : {std::size_t{104729}, (std::size_t{1} << 18) + 1})
            for (const bool in_place : {false, true})
              check_operation(communicator, {collective, heddleFloat32, heddleSum, ranks, count},
                              in_place);
      },
      "HEDDLE_LOG=error HEDDLE_SLOT_BYTES=4K HEDDLE_SLOTS=4 HEDDLE_ALGO=" + algorithm +
          " HEDDLE_CHANNELS=" + channels);
}

TEST_CASE("odd-counts: 1 Mi + 1 elements of every type by every operation") {
  run_ranks(2, [](Communicator& communicator, int) {
    for (const auto collective : kCollectives)
      check_all(communicator, collective, {(std::size_t{1} << 20) + 1}, kEveryOp, false);
  });
}

TEST_CASE("odd-counts: 10556587 elements") {
  run_ranks(2, [](Communicator& communicator, int) {
    check_operation(communicator,
                    {base::Collective::all_reduce, heddleFloat32, heddleSum, 2, 10556587}, false);
  });
}

TEST_CASE("buffers need not be aligned") {
  run_ranks(3, [&](Communicator& communicator, int) {
    for (const std::size_t misaligned : {1, 2, 3, 4, 8, 63})
      for (const auto collective : kCollectives)
        for (const bool in_place : {false, true})
          check_operation(communicator, {collective, heddleFloat64, heddleProd, 3, 1009},
                          {in_place, misaligned});
  });
}

TEST_CASE("the fabric carries the same when shared memory is off") {
  const int ranks = GENERATE(2, 3, 4);
  const std::string how =
      GENERATE("HEDDLE_PROVIDER=tcp", "HEDDLE_PROVIDER=tcp HEDDLE_RMA=0",
               "HEDDLE_PROVIDER=tcp;ofi_rxm", "HEDDLE_PROVIDER=tcp HEDDLE_EAGER_BYTES=0");
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        for (const auto collective : kCollectives)
          for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1009},
                                          std::size_t{104729}, std::size_t{1} << 20})
            for (const bool in_place : {false, true})
              check_operation(communicator, {collective, heddleInt32, heddleSum, ranks, count},
                              in_place);
      },
      "HEDDLE_SHM=0 HEDDLE_LOG=error " + how);
}

TEST_CASE("the sockets provider carries it, slowly") {
  run_ranks(
      2,
      [](Communicator& communicator, int) {
        for (const auto collective : kCollectives)
          check_operation(communicator, {collective, heddleFloat32, heddleSum, 2, 30011}, false);
      },
      "HEDDLE_SHM=0 HEDDLE_PROVIDER=sockets");
}

TEST_CASE("world-of-one: data right, nobody contacted") {
  // No root answers at this address: a rank that contacted it would fail.
  heddleUniqueId id = UniqueId::make().get();
  std::string text = id.internal;
  text.replace(text.rfind(' '), std::string::npos, " 127.0.0.1:1");
  auto communicator = Communicator::from_unique_id(UniqueId::from_string(text), 1, 0);
  for (const auto collective : kCollectives) check_all(communicator, collective, small_counts(1));
}

}  // namespace heddle::test
