// Every collective, type, operation, placement, count and root over the real transports (case
// odd-counts). What an algorithm does with a type is the executor's matrix: here types and
// operations take turns where the algorithm is not the table's choice.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "matrix.hpp"

namespace heddle::test {
namespace {

using base::Collective;

// All ranks walk the list in the same order. `turn` says which types and operations have theirs.
void check_in_turns(Communicator& communicator, const std::vector<Collective>& collectives,
                    const std::vector<std::size_t>& counts, std::size_t turn = 0) {
  const int ranks = communicator.size();
  for (const Collective collective : collectives)
    for (const int root : roots(collective, ranks))
      for (const std::size_t count : counts) {
        base::DataType type = type_at(++turn);
        if (!holds_sum_of(ranks, type)) type = heddleInt32;
        check_both(communicator, {collective, type, op_at(turn), ranks, count, root});
      }
}

}  // namespace

TEST_CASE("odd-counts: every collective, type and operation is right") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        const auto counts = small_counts(ranks);
        std::size_t turn = 0;
        for (const Collective collective : every_collective())
          for (const int root : roots(collective, ranks)) {
            for (const std::size_t count : counts)
              check_both(communicator, {collective, heddleFloat32, heddleSum, ranks, count, root});
            for_types_and_ops(collective, [&](base::DataType type, base::RedOp op) {
              check_both(communicator,
                         {collective, type, op, ranks, counts[++turn % counts.size()], root});
            });
          }
      },
      "HEDDLE_LOG=error");
}

TEST_CASE("odd-counts: by every algorithm") {
  const int ranks = GENERATE(2, 3, 4, 5, 6, 7, 8, 9);
  by_every_algorithm(
      ranks, "", [&](Communicator& communicator, const auto& some, std::size_t turn) {
        const auto n = static_cast<std::size_t>(ranks);
        check_in_turns(communicator, some, {0, 1, 2, n - 1, n, n + 1, 2 * n + 1, 127, 1009}, turn);
      });
}

TEST_CASE("an algorithm that lacks a collective gives way") {
  run_ranks(
      3,
      [](Communicator& communicator, int) {
        check_in_turns(communicator, every_collective(), {1009});
      },
      "HEDDLE_LOG=error HEDDLE_ALGO=" + std::string(GENERATE("tree", "pairwise", "hierarchical")));
}

TEST_CASE("odd-counts: several rounds and channels") {
  const int ranks = GENERATE(2, 3, 5);
  const std::string channels = GENERATE("1", "3");
  by_every_algorithm(ranks, "HEDDLE_SLOT_BYTES=4K HEDDLE_SLOTS=4 HEDDLE_CHANNELS=" + channels,
                     [&](Communicator& communicator, const auto& some, std::size_t turn) {
                       for (const Collective collective : some)
                         check_operation(
                             communicator,
                             {collective, type_at(turn), heddleSum, ranks, 60'013, ranks - 1},
                             has_in_place(collective) && turn % 2 == 0);
                     });
}

TEST_CASE("blocks of different lengths, some of them empty, with gaps and without") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(
      ranks,
      [&](Communicator& communicator, int) {
        std::size_t turn = 0;
        for (const Collective collective :
             {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all})
          for (const std::size_t count : {1, 2, 1009, 70'001})
            for (const std::size_t gap : {0, 3})
              for (const bool in_place : {false, true}) {
                if (in_place && !has_in_place(collective)) continue;
                if (gap > 0 && collective == Collective::reduce_scatter) continue;
                Operation operation{collective, type_at(turn), op_at(turn), ranks, count};
                operation.uneven = true;
                check_operation(communicator, operation,
                                {.in_place = in_place, .misaligned = turn % 3, .gap = gap},
                                turn % 2 == 0 ? Calls::blocking : Calls::asynchronous);
                ++turn;
              }
      },
      how);
}

TEST_CASE("blocks of different lengths, by every algorithm") {
  by_every_algorithm(4, "", [](Communicator& communicator, const auto& some, std::size_t turn) {
    for (const Collective collective :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
      if (std::find(some.begin(), some.end(), collective) == some.end()) continue;
      Operation operation{collective, type_at(turn), heddleSum, 4, 1009};
      operation.uneven = true;
      check_both(communicator, operation);
    }
  });
}

TEST_CASE("pre-scaled sums, each rank with its own scalar") {
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  run_ranks(ranks, [&](Communicator& communicator, int) {
    std::size_t turn = 0;
    for (const Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce})
      for (const std::size_t count : {1, 1009, 104'729})
        for (const bool in_place : {false, true}) {
          Operation operation{collective, type_at(++turn), heddleSum, ranks, count, ranks - 1};
          operation.scaled = true;
          const auto calls = turn % 2 == 0 ? Calls::blocking : Calls::asynchronous;
          check_operation(communicator, operation, {.in_place = in_place}, calls);
          if (collective != Collective::reduce_scatter) continue;
          operation.uneven = true;
          check_operation(communicator, operation, {.in_place = in_place}, calls);
        }
  });
}

TEST_CASE("odd-counts: 1 Mi + 1 elements of every type") {
  run_ranks(2, [](Communicator& communicator, int) {
    std::size_t turn = 0;
    for (const Collective collective : every_collective())
      for (std::size_t type = 0; type < heddleNumTypes; ++type)
        if (base::reduces(collective) || type % 4 == 0)
          check_operation(communicator,
                          {collective, type_at(type), op_at(turn++), 2, (std::size_t{1} << 20) + 1},
                          false);
  });
}

TEST_CASE("odd-counts: 1 Mi + 1 elements among any number of ranks, in place and out of place") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(ranks, [&](Communicator& communicator, int) {
    for (const Collective collective : every_collective())
      check_both(communicator, {collective, heddleUint8, heddleSum, ranks,
                                (std::size_t{1} << 20) + 1, ranks - 1});
  });
}

TEST_CASE("odd-counts: 10556587 elements") {
  run_ranks(2, [](Communicator& communicator, int) {
    check_operation(communicator, {Collective::all_reduce, heddleFloat32, heddleSum, 2, 10556587},
                    false);
  });
}

TEST_CASE("buffers need not be aligned") {
  run_ranks(3, [&](Communicator& communicator, int) {
    for (const std::size_t misaligned : {1, 2, 3, 4, 8, 63})
      for (const Collective collective : every_collective())
        check_operation(communicator, {collective, heddleFloat64, heddleProd, 3, 1009},
                        {has_in_place(collective) && misaligned % 2 == 0, misaligned});
  });
}

TEST_CASE("works give the same as calls that block") {
  run_ranks(3, [&](Communicator& communicator, int) {
    for (const Collective collective : every_collective())
      for (const std::size_t count : {0, 1, 20'011})
        check_operation(communicator, {collective, heddleInt64, heddleSum, 3, count, 1}, {},
                        Calls::asynchronous);
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
        check_in_turns(communicator, every_collective(), {0, 1, 1009, 104'729});
        check_both(communicator,
                   {Collective::all_reduce, heddleInt32, heddleSum, ranks, std::size_t{1} << 20});
      },
      "HEDDLE_SHM=0 HEDDLE_LOG=error " + how);
}

TEST_CASE("the fabric carries every algorithm's messages") {
  const int ranks = GENERATE(4, 5, 8);
  by_every_algorithm(ranks, "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp",
                     [](Communicator& communicator, const auto& some, std::size_t turn) {
                       check_in_turns(communicator, some, {13, 40'009}, turn);
                     });
}

TEST_CASE("the sockets provider carries it, slowly") {
  run_ranks(
      2,
      [](Communicator& communicator, int) {
        for (const Collective collective : every_collective())
          check_operation(communicator, {collective, heddleFloat32, heddleSum, 2, 30'011}, false);
      },
      "HEDDLE_SHM=0 HEDDLE_PROVIDER=sockets");
}

TEST_CASE("world-of-one: data right, nobody contacted") {
  // No root answers at this address: a rank that contacted it would fail.
  heddleUniqueId id = UniqueId::make().get();
  std::string text = id.internal;
  text.replace(text.rfind(' '), std::string::npos, " 127.0.0.1:1");
  auto communicator = Communicator::from_unique_id(UniqueId::from_string(text), 1, 0);
  check_in_turns(communicator, every_collective(), small_counts(1));
  communicator.barrier();
}

}  // namespace heddle::test
