#include "loss.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "heddle/group.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

constexpr int kRanks = kRanksBeforeLoss;

struct Report {
  double seconds;        // from just before the strike to the error of both communicators
  double abort_seconds;  // the longer of both
  int survivors_right;
  char text[2][1024];  // the error of each communicator
};

// What the processes tell each other, in memory that they share from before the fork.
struct Board {
  heddleUniqueId worlds[2];
  heddleUniqueId survivors;
  std::atomic<int> published;  // of `worlds`
  std::atomic<int> survivors_published;
  std::atomic<int> looping;               // pairs of rank and communicator
  std::atomic<std::int64_t> struck_nano;  // 0: not yet
  Report reports[kRanks];
};

std::int64_t now_nano() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // one clock for all processes
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

Communicator join(const heddleUniqueId& id, int ranks, int rank, const std::string& settings) {
  return Communicator::from_unique_id(UniqueId::from_string(id.internal), ranks, rank, {settings});
}

void reduce_once(Communicator& communicator) {
  std::vector<float> values(100'000, 0.0F);
  communicator.all_reduce(values, Op::sum);
}

void pass_on_once(Communicator& communicator) {
  std::vector<float> sent(100'000, 0.0F), received(sent.size());
  group([&] {
    communicator.send(sent, (communicator.rank() + 1) % kRanks);
    communicator.receive(received, (communicator.rank() + kRanks - 1) % kRanks);
  });
}

// What is looped over on each communicator, and how its errors call it.
struct Loop {
  void (*once)(Communicator&);
  const char* name;
};
constexpr Loop kLoops[] = {{reduce_once, "all-reduce"}, {pass_on_once, "group of transfers"}};

// Runs operations until one fails; its error.
std::string loop_until_error(Communicator& communicator, const Loop& loop,
                             std::atomic<int>& looping) {
  try {
    for (int i = 0;; ++i) {
      loop.once(communicator);
      if (i == 3) ++looping;
    }
  } catch (const Error& error) {
    return error.what();
  }
}

void write_down(const std::string& text, char (&place)[1024]) {
  std::strncpy(place, text.c_str(), sizeof place - 1);
}

void survive(Board& board, int rank, const Loss& loss) {
  if (loss.prepare) loss.prepare(rank);
  auto& report = board.reports[rank];
  if (rank == 0) {
    for (auto& world : board.worlds) world = UniqueId::make().get();
    board.published = 1;
  }
  expect(reached(board.published, 1), "rank 0 published no unique ids");
  std::vector<Communicator> worlds;
  for (const auto& id : board.worlds) worlds.push_back(join(id, kRanks, rank, loss.settings));
  if (loss.once_joined) loss.once_joined(rank);
  std::string second;
  std::thread other([&] { second = loop_until_error(worlds[1], kLoops[1], board.looping); });
  const std::string first = loop_until_error(worlds[0], kLoops[0], board.looping);
  other.join();
  const std::int64_t failed = now_nano();
  write_down(first, report.text[0]);
  write_down(second, report.text[1]);
  expect(board.struck_nano != 0, "failed before the strike: " + first + "; " + second);
  report.seconds = static_cast<double>(failed - board.struck_nano) * 1e-9;
  for (auto& world : worlds) {
    const auto start = base::Clock::now();
    world.abort();
    report.abort_seconds = std::max(report.abort_seconds, base::seconds_since(start));
  }
  if (rank == loss.victim) return;
  // The three that are left form a new communicator in the same processes.
  const int new_rank = rank < loss.victim ? rank : rank - 1;
  if (new_rank == 0) {
    board.survivors = UniqueId::make().get();
    board.survivors_published = 1;
  }
  expect(reached(board.survivors_published, 1), "no unique id for the survivors");
  auto left = join(board.survivors, kRanks - 1, new_rank, loss.settings);
  std::vector<float> values(1000, 1.0F);
  left.all_reduce(values, Op::sum);
  report.survivors_right = values[999] == 3.0F ? 1 : 0;
}

}  // namespace

void check_loss(const Loss& loss) {
  Shared<Board> shared;
  Board& board = *shared;
  std::vector<Child> children;
  for (int rank = 0; rank < kRanks; ++rank)
    children.emplace_back([&, rank] { survive(board, rank, loss); });
  REQUIRE(reached(board.looping, 2 * kRanks));
  board.struck_nano = now_nano();
  loss.strike(children[static_cast<std::size_t>(loss.victim)].pid());
  for (int rank = 0; rank < kRanks; ++rank) {
    const bool is_victim = rank == loss.victim;
    if (is_victim && !loss.victim_runs_on) continue;
    const auto status =
        children[static_cast<std::size_t>(rank)].wait(base::Seconds(loss.within + 20));
    const auto& report = board.reports[rank];
    INFO("rank " << rank << " after " << report.seconds << " s, aborted in " << report.abort_seconds
                 << " s: " << report.text[0] << "\n"
                 << report.text[1]);
    CHECK(status.value_or(-1) == 0);
    CHECK(report.seconds > 0);
    CHECK(report.seconds <= loss.within);
    CHECK(report.abort_seconds <= 2);
    CHECK(report.survivors_right == (is_victim ? 0 : 1));
    for (int world = 0; world < 2; ++world) {
      const std::string text = report.text[world];
      if (!is_victim) CHECK_THAT(text, Contains(loss.blamed));
      CHECK_THAT(text, Contains(kLoops[world].name));
    }
  }
}

}  // namespace heddle::test
