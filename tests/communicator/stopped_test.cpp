// A process that stands still, in a debugger or swapped out, is not a host that has vanished: its
// kernel answers for it.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "child.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace heddle::test {
namespace {

struct Board {
  heddleUniqueId id;
  std::atomic<int> published;
  std::atomic<int> rounds;  // of all ranks
};

void take_part(Board& board, int rank) {
  if (rank == 0) {
    board.id = UniqueId::make().get();
    board.published = 1;
  }
  expect(reached(board.published, 1), "rank 0 published no unique id");
  auto communicator = Communicator::from_unique_id(UniqueId::from_string(board.id.internal), 2,
                                                   rank, {"HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp"});
  for (int round = 0; round < 500; ++round) {
    check_operation(communicator,
                    {base::Collective::all_reduce, heddleFloat32, heddleSum, 2, 10'000}, false);
    ++board.rounds;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("a process that is stopped for longer than a host may be silent goes on") {
  const std::size_t stopped = GENERATE(1, 0);  // rank 0's process is also where the ranks meet
  Shared<Board> shared;
  Board& board = *shared;
  std::vector<Child> children;
  for (int rank = 0; rank < 2; ++rank) children.emplace_back([&, rank] { take_part(board, rank); });
  REQUIRE(reached(board.rounds, 20));
  REQUIRE(kill(children[stopped].pid(), SIGSTOP) == 0);
  std::this_thread::sleep_for(std::chrono::seconds(35));
  CHECK(board.rounds < 1000);
  REQUIRE(kill(children[stopped].pid(), SIGCONT) == 0);
  for (Child& child : children) CHECK(child.wait(base::Seconds(60)).value_or(-1) == 0);
}

}  // namespace heddle::test
