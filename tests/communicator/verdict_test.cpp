// Who is at fault, by what the root knows of the ranks.
#include "communicator/verdict.hpp"

#include "catch.hpp"

namespace heddle::communicator {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

// Of four ranks that have just spoken, all in operation 5.
std::vector<RankState> four_ranks() {
  std::vector<RankState> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks[static_cast<std::size_t>(rank)].rank = rank;
    ranks[static_cast<std::size_t>(rank)].name = "rank " + std::to_string(rank) + " on host h";
    ranks[static_cast<std::size_t>(rank)].started = 5;
  }
  return ranks;
}

const Stuck kStuck{5, 3, "all-reduce made no progress"};
constexpr int kReporter = 1;

}  // namespace

TEST_CASE(
    "a silent rank is to blame before one that is behind, and that before who is waited for") {
  auto ranks = four_ranks();
  CHECK(blame_for(kStuck, kReporter, ranks).rank == 3);
  CHECK_THAT(blame_for(kStuck, kReporter, ranks).text,
             Equals("rank 3 on host h holds up the others (it was waited for); seen by rank 1 on "
                    "host h: all-reduce made no progress"));
  ranks[0].started = 4;
  CHECK(blame_for(kStuck, kReporter, ranks).rank == 0);
  ranks[2].started = 3;
  CHECK(blame_for(kStuck, kReporter, ranks).rank == 2);
  CHECK_THAT(blame_for(kStuck, kReporter, ranks).text,
             Contains("has not called operation #5; its last was #3"));
  ranks[3].silent = 2.5;
  CHECK(blame_for(kStuck, kReporter, ranks).rank == 3);
  CHECK_THAT(blame_for(kStuck, kReporter, ranks).text, Contains("has not answered for 2.5 s"));
  CHECK(blame_for(kStuck, kReporter, ranks).code == heddleTimeout);
}

TEST_CASE("who reports is never to blame, nor is anybody behind in sends and receives") {
  auto ranks = four_ranks();
  ranks[1].silent = 10;
  ranks[1].started = 1;
  CHECK(blame_for(kStuck, kReporter, ranks).rank == 3);
  ranks[2].started = 1;
  CHECK(blame_for({0, 0, "receive"}, kReporter, ranks).rank == 0);
}

TEST_CASE("a rank that has left is to blame when it is waited for") {
  auto ranks = four_ranks();
  ranks[3].left = true;
  ranks[3].silent = 100;
  CHECK_THAT(blame_for(kStuck, kReporter, ranks).text, Contains("rank 3") && Contains("has left"));
  CHECK_THAT(blame_for({5, 0, "x"}, kReporter, ranks).text,
             Contains("rank 0") && Contains("waited for"));
}

TEST_CASE("where nobody is known to be at fault, the verdict says so") {
  CHECK(blame_for({5, -1, "x"}, kReporter, four_ranks()).rank == -1);
  CHECK_THAT(blame_for({5, -1, "x"}, kReporter, four_ranks()).text, Contains("an unknown rank"));
}

TEST_CASE("a host has vanished when it is silent and every other rank waits") {
  const auto silent = [](RankState& rank) { rank.silent = rank.host_silent = 31; };
  auto ranks = four_ranks();
  silent(ranks[2]);
  CHECK(!find_vanished(ranks));
  for (const std::size_t rank : {0, 1, 3}) ranks[rank].stands_still = true;
  REQUIRE(find_vanished(ranks));
  CHECK(find_vanished(ranks)->rank == 2);
  CHECK(find_vanished(ranks)->code == heddleRemoteError);
  CHECK_THAT(find_vanished(ranks)->text, Contains("rank 2 on host h has vanished"));
  ranks[3].stands_still = false;  // it computes
  CHECK(!find_vanished(ranks));
  ranks[3].stands_still = true;
  ranks[2].host_silent = 1;  // its process alone is stopped
  CHECK(!find_vanished(ranks));
}

TEST_CASE("a host that vanishes while the others leave is missed too") {
  auto ranks = four_ranks();
  ranks[2].silent = ranks[2].host_silent = 31;
  for (const std::size_t rank : {0, 1, 3}) ranks[rank].left = true;
  REQUIRE(find_vanished(ranks));
  CHECK(find_vanished(ranks)->rank == 2);
  // One that has left may vanish.
  ranks[0].silent = ranks[0].host_silent = 31;
  CHECK(find_vanished(ranks)->rank == 2);
  for (auto& rank : ranks) rank.left = true;
  CHECK(!find_vanished(ranks));
}

}  // namespace heddle::communicator
