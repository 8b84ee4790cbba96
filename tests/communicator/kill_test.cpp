// Case kill-stop-vanish: a rank's process is killed, stopped or exits while four of them loop over
// all-reduce on two communicators. Every survivor gets an error in time, and can go on without it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr int kRanks = 4;
constexpr int kVictim = 2;

// What the processes tell each other, in memory that they share from before the fork.
struct Board {
  heddleUniqueId worlds[2];
  heddleUniqueId survivors;
  std::atomic<int> published[2];
  std::atomic<int> survivors_published;
  std::atomic<int> looping;
  std::atomic<int> struck;
  struct Report {
    double seconds;  // from the strike to the error
    double abort_seconds;
    int survivors_right;
    char text[512];
  } reports[kRanks];
};

Board* shared_board() {
  void* const memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return new (memory) Board{};
}

void wait_until(const std::atomic<int>& flag, int value) {
  while (flag < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Runs operations until one fails; its error.
std::string loop_until_error(Communicator& communicator, std::atomic<int>& looping) {
  std::vector<float> values(100000, 0.0F);
  try {
    for (int i = 0;; ++i) {
      communicator.all_reduce(values, Op::sum);
      if (i == 3) ++looping;
    }
  } catch (const Error& error) {
    return error.what();
  }
}

void survive(Board& board, int rank, const std::string& settings) {
  auto& report = board.reports[rank];
  std::vector<Communicator> worlds;
  for (int i = 0; i < 2; ++i) {
    if (rank == 0) {
      board.worlds[i] = UniqueId::make().get();
      board.published[i] = 1;
    }
    wait_until(board.published[i], 1);
    worlds.push_back(Communicator::from_unique_id(UniqueId::from_string(board.worlds[i].internal),
                                                  kRanks, rank, {settings}));
  }
  std::string second;
  std::thread other([&] { second = loop_until_error(worlds[1], board.looping); });
  const std::string first = loop_until_error(worlds[0], board.looping);
  other.join();
  while (board.struck == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  report.seconds = static_cast<double>(now.tv_sec - board.struck);
  std::strncpy(report.text, (first + " | " + second).c_str(), sizeof report.text - 1);
  const auto start = base::Clock::now();
  for (auto& world : worlds) world.abort();
  worlds.clear();
  report.abort_seconds = base::seconds_since(start);
  // The three that are left form a new communicator in the same processes.
  const int new_rank = rank < kVictim ? rank : rank - 1;
  if (new_rank == 0) {
    board.survivors = UniqueId::make().get();
    board.survivors_published = 1;
  }
  wait_until(board.survivors_published, 1);
  auto left = Communicator::from_unique_id(UniqueId::from_string(board.survivors.internal),
                                           kRanks - 1, new_rank, {settings});
  std::vector<float> values(1000, 1.0F);
  left.all_reduce(values, Op::sum);
  report.survivors_right = values[999] == 3.0F ? 1 : 0;
}

void run_case(int signal_number, const std::string& settings) {
  Board* const board = shared_board();
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        survive(*board, rank, settings);
        _exit(0);
      } catch (const std::exception& error) {
        std::strncpy(board->reports[rank].text, error.what(), 511);
        _exit(1);
      }
    }
    children.push_back(child);
  }
  // Every rank is in both loops.
  const base::Deadline deadline(base::Seconds(40));
  while (board->looping < 2 * kRanks && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  kill(children[kVictim], signal_number);
  board->struck = static_cast<int>(now.tv_sec);
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    if (rank == kVictim) continue;
    waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
    const auto& report = board->reports[rank];
    INFO("rank " << rank << ": " << report.text);
    CHECK(status == 0);
    CHECK(report.seconds <= 10);
    CHECK(report.abort_seconds <= 2);
    CHECK(report.survivors_right == 1);
    CHECK_THAT(std::string(report.text), Catch::Matchers::Contains("rank 2 on host") &&
                                             Catch::Matchers::Contains("all-reduce"));
  }
  kill(children[kVictim], SIGKILL);
  waitpid(children[kVictim], nullptr, 0);
  munmap(board, sizeof(Board));
}

}  // namespace

TEST_CASE("kill-stop-vanish") {
  const std::string how = GENERATE("HEDDLE_SHM=1", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  const int signal_number = GENERATE(SIGKILL, SIGSTOP);
  INFO(how << ", signal " << signal_number);
  run_case(signal_number, how + " HEDDLE_TIMEOUT=5 HEDDLE_LOG=error");
}

}  // namespace heddle::test
