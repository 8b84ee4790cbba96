// Ranks that take themselves for ranks of several hosts (HEDDLE_HOSTID): shared memory within one,
// the fabric between, and the algorithms that are made of both.
#include <string>

#include "catch.hpp"
#include "collectives/schedule.hpp"
#include "ranks.hpp"
#include "run_shapes.hpp"

namespace heddle::test {
namespace {

// Every collective that `wanted` says, in sizes of one message and of several rounds.
template <typename Wanted>
void check_collectives(Communicator& communicator, Wanted wanted) {
  const int ranks = communicator.size();
  int turn = 0;
  for (int c = 0; c < base::kCollectives; ++c) {
    const auto collective = static_cast<base::Collective>(c);
    if (!wanted(collective)) continue;
    for (const int root : roots(collective, ranks))
      for (const std::size_t count : {1, 1009, 30'011}) {
        const auto type = static_cast<base::DataType>(turn++ % heddleNumTypes);
        const bool in_place = has_in_place(collective) && turn % 2 == 0;
        check_operation(communicator, {collective, type, heddleSum, ranks, count, root}, in_place);
      }
  }
}

SettingsOf on_hosts(int ranks_per_host, const std::string& settings) {
  return [=](int rank) {
    return "HEDDLE_HOSTID=host" + std::to_string(rank / ranks_per_host) +
           " HEDDLE_PROVIDER=tcp HEDDLE_LOG=error HEDDLE_SLOT_BYTES=16K " + settings;
  };
}

}  // namespace

TEST_CASE("hierarchical algorithms over shared memory within hosts and the fabric between") {
  const auto [ranks, on_host] = GENERATE(table<int, int>({{4, 2}, {6, 2}, {6, 3}, {8, 2}, {8, 4}}));
  int tried = 0, number = 0;
  for (const auto& algorithm : collectives::algorithms()) {
    const auto fits = [&, ranks = ranks, on_host = on_host](base::Collective collective) {
      const collectives::Shape flat{collective, ranks, 1};
      const collectives::Shape hosts{collective, ranks, 1, 0, on_host};
      return can_do(algorithm, hosts) && !can_do(algorithm, flat);
    };
    if (!fits(base::Collective::all_reduce) && !fits(base::Collective::all_gather)) continue;
    // The executor's matrix has all of them in every world; here the smallest has, and the others
    // take turns.
    if (ranks > 4 && ++number % 3 != on_host % 3) continue;
    ++tried;
    run_ranks(
        ranks, [&](Communicator& communicator, int) { check_collectives(communicator, fits); },
        on_hosts(on_host, "HEDDLE_ALGO=" + std::string(algorithm.name)));
  }
  CHECK(tried >= 1);
}

TEST_CASE("every collective is right among hosts by the algorithm that the table chooses") {
  const auto [ranks, on_host] = GENERATE(table<int, int>({{2, 1}, {4, 2}, {5, 2}, {8, 4}}));
  run_ranks(
      ranks,
      [](Communicator& communicator, int) {
        check_collectives(communicator, [](base::Collective) { return true; });
      },
      on_hosts(on_host, ""));
}

TEST_CASE("a hierarchical algorithm gives way where hosts are not alike") {
  // Of five ranks, the third host has one.
  run_ranks(
      5,
      [](Communicator& communicator, int) {
        check_collectives(communicator, [](base::Collective) { return true; });
      },
      on_hosts(2, "HEDDLE_ALGO=hierarchical"));
}

}  // namespace heddle::test
