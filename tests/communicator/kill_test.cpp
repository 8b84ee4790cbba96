// Case kill-stop-vanish: a rank's process is killed, stopped or exits.
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "catch.hpp"
#include "loss.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace heddle::test {
namespace {

void check_signal(int victim, int signal_number, const std::string& settings,
                  const std::string& blamed) {
  INFO(settings << ", rank " << victim << " gets signal " << signal_number);
  // SIGTERM: a rank that exits in mid-loop.
  const auto prepare = [](int) { signal(SIGTERM, [](int) { _exit(0); }); };
  const auto strike = [&](pid_t pid) { REQUIRE(kill(pid, signal_number) == 0); };
  check_loss({.victim = victim,
              .settings = settings + " HEDDLE_LOG=error",
              .blamed = blamed,
              .prepare = prepare,
              .strike = strike});
}

}  // namespace

// HEDDLE_TIMEOUT is at its default, many times what is allowed here.
TEST_CASE("kill-stop-vanish: a process that is gone") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  // Rank 0's process is also where the ranks meet.
  const int victim = GENERATE(2, 0);
  const int signal_number = GENERATE(SIGKILL, SIGTERM);
  check_signal(victim, signal_number, how, "rank " + std::to_string(victim) + " on host ");
}

TEST_CASE("kill-stop-vanish: a process that is gone, while a child that it forked lives on") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int victim = GENERATE(2, 0);
  INFO(how << ", rank " << victim);
  const Shared<std::atomic<int>> children_end;
  const auto fork_a_child = [&](int rank) {
    if (rank != victim) return;
    const pid_t child = fork();
    expect(child >= 0, "fork failed");
    if (child > 0) return;
    for (int i = 0; i < 6000 && *children_end == 0; ++i) usleep(10'000);
    _exit(0);
  };
  check_loss({.victim = victim,
              .settings = how + " HEDDLE_LOG=error",
              .blamed = "rank " + std::to_string(victim) + " on host ",
              .once_joined = fork_a_child,
              .strike = [](pid_t pid) { REQUIRE(kill(pid, SIGKILL) == 0); }});
  *children_end = 1;
}

TEST_CASE("kill-stop-vanish: a process that stands still") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int victim = GENERATE(2, 0);
  // Nobody is left to say who is to blame when rank 0 stands still: then each names whom it waited
  // for itself.
  check_signal(victim, SIGSTOP, how + " HEDDLE_TIMEOUT=3",
               victim == 0 ? " on host " : "rank " + std::to_string(victim) + " on host ");
}

}  // namespace heddle::test
