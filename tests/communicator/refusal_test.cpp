// A job that fails while its ranks join: every rank is told why, also when the process that knows
// ends at once, and when a rank comes after all is over.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "child.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

constexpr int kRanks = 3;
// Each round is a new race between what the root says and the end of its process.
constexpr int kRounds = 25;

// What the processes of one job share.
struct Board {
  heddleUniqueId id;
  std::atomic<bool> published;
  std::atomic<int> told;  // ranks whose text is there
  char texts[kRanks][1024];
};

template <typename Condition>
void wait_until(const Condition& condition) {
  for (int waited = 0; !condition() && waited < 10'000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Joins, writes the error to the board and ends the process as a program does.
void be_rank(Board& board, int rank, int ranks, const std::string& settings) {
  if (rank == 0) {
    board.id = UniqueId::make().get();
    board.published = true;
  }
  wait_until([&] { return board.published.load(); });
  try {
    Communicator::from_unique_id(UniqueId::from_string(board.id.internal), ranks, rank, {settings});
  } catch (const Error& error) {
    std::strncpy(board.texts[rank], error.what(), sizeof board.texts[rank] - 1);
  }
  ++board.told;
  std::exit(0);
}

using RankOf = std::function<void(Board&, int rank)>;

std::vector<std::string> texts_of_processes(const RankOf& body) {
  const Shared<Board> shared;
  Board& board = *shared;
  std::vector<Child> children;
  for (int rank = 0; rank < kRanks; ++rank) children.emplace_back([&, rank] { body(board, rank); });
  for (Child& child : children) CHECK(child.wait(base::Seconds(20)));
  return {board.texts[0], board.texts[1], board.texts[2]};
}

}  // namespace

TEST_CASE("why the root's own rank fails is told before its process ends") {
  for (int round = 0; round < kRounds; ++round) {
    const auto texts = texts_of_processes([](Board& board, int rank) {
      // Found when ranks open what carries data: after all have joined, before they are done.
      const std::string bad = rank == 0 ? " HEDDLE_IFACE=nosuch0" : "";
      be_rank(board, rank, kRanks, "HEDDLE_SHM=0 HEDDLE_INIT_TIMEOUT=15 HEDDLE_LOG=none" + bad);
    });
    INFO("round " << round);
    for (const auto& text : texts) CHECK_THAT(text, Contains("nosuch0"));
    for (int rank = 1; rank < kRanks; ++rank)
      CHECK_THAT(texts[static_cast<std::size_t>(rank)], Contains("rank 0 on host"));
  }
}

TEST_CASE("a rank that comes after the join has failed is told why") {
  for (int round = 0; round < 5; ++round) {
    const auto texts = texts_of_processes([](Board& board, int rank) {
      // Ranks 0 and 1 disagree and are done before rank 2 comes; the root's process is still there.
      if (rank == 2) wait_until([&] { return board.told == 1; });
      if (rank == 1) return be_rank(board, 1, 4, "HEDDLE_INIT_TIMEOUT=15 HEDDLE_LOG=none");
      if (rank == 2) return be_rank(board, 2, 3, "HEDDLE_INIT_TIMEOUT=5 HEDDLE_LOG=none");
      board.id = UniqueId::make().get();
      board.published = true;
      try {
        Communicator::from_unique_id(UniqueId::from_string(board.id.internal), 3, 0,
                                     {"HEDDLE_INIT_TIMEOUT=15 HEDDLE_LOG=none"});
      } catch (const Error& error) {
        std::strncpy(board.texts[0], error.what(), sizeof board.texts[0] - 1);
      }
      wait_until([&] { return board.told == 2; });
      std::exit(0);
    });
    INFO("round " << round);
    for (const auto& text : texts) CHECK_THAT(text, Contains("nranks 3") && Contains("nranks 4"));
    CHECK_THAT(texts[2], Contains("too late"));
  }
}

}  // namespace heddle::test
