// Case kill-stop-vanish: a host loses power, or its network. Nothing is closed and nothing answers.
// Each rank is on a host of its own, of the emulated cluster that TEST_CLUSTER names.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/fd.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "loss.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace heddle::test {
namespace {

std::string cluster() {
  const char* const name = std::getenv("TEST_CLUSTER");
  if (name == nullptr) throw std::runtime_error("TEST_CLUSTER is not set: run vanish.py");
  return name;
}

// This process moves to a host of the cluster.
void enter_host(int host) {
  std::ifstream file("/run/heddle-cluster-" + cluster() + "/holder" + std::to_string(host));
  file.ignore(1);  // of a list in JSON: the process that keeps the host
  pid_t keeper = 0;
  expect(static_cast<bool>(file >> keeper), "there is no host " + std::to_string(host));
  const base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, keeper, 0)));
  expect(setns(process.get(), CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) == 0,
         "cannot enter host " + std::to_string(host));
}

// Takes a host's cable off its switch, or puts it back; the host's own link stays up.
void plug(int host, const std::string& device, bool in) {
  const std::string port = device + "-" + std::to_string(host);
  const std::string to = in ? " master br-" + device : " nomaster";
  const std::string command = "ip -n " + cluster() + "-switch link set " + port + to;
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

void plug_all(int host, bool in) {
  for (const char* device : {"eth0", "r0"}) plug(host, device, in);
}

struct Board {
  heddleUniqueId id;
  std::atomic<int> published;
  std::atomic<int> rounds;  // of all ranks
  std::atomic<int> stop;
};

// Takes part in all-reduces until rank 0 is told to stop.
void loop_until_stop(Board& board, int rank) {
  enter_host(rank);
  if (rank == 0) {
    board.id = UniqueId::make().get();
    board.published = 1;
  }
  expect(reached(board.published, 1), "rank 0 published no unique id");
  auto communicator = Communicator::from_unique_id(UniqueId::from_string(board.id.internal),
                                                   kRanksBeforeLoss, rank);
  std::vector<float> values(1000);
  while (values[0] == 0) {
    values.assign(values.size(), rank == 0 ? static_cast<float>(board.stop.load()) : 0.0F);
    communicator.all_reduce(values, Op::sum);
    ++board.rounds;
  }
}

void check_vanishing(int victim, const std::string& settings, const std::string& blamed,
                     double within) {
  INFO("host " << victim << " vanishes, settings \"" << settings << "\"");
  check_loss({.victim = victim,
              .settings = settings + " HEDDLE_LOG=error",
              .blamed = blamed,
              .prepare = enter_host,
              .strike = [&](pid_t) { plug_all(victim, false); },
              .within = within,
              .victim_runs_on = true});
  plug_all(victim, true);
}

}  // namespace

TEST_CASE("kill-stop-vanish: a host without power") {
  const int victim = GENERATE(2, 0);  // rank 0's process is also where the ranks meet
  // Without the root each names whom it waited for. With it, the adapters may tell before the root
  // does: they know the host.
  check_vanishing(victim, "HEDDLE_TIMEOUT=5", victim == 0 ? " host " : "host " + cluster() + "-2",
                  10);
}

TEST_CASE("kill-stop-vanish: a host without power is missed before the timeout") {
  const int victim = GENERATE(2, 0);
  const std::string name = "rank " + std::to_string(victim) + " on host " + cluster();
  check_vanishing(victim, "", name, 45);  // of 600
}

TEST_CASE("an adapter that is pulled under the control connections loses no rank") {
  Shared<Board> shared;
  Board& board = *shared;
  std::vector<Child> children;
  for (int rank = 0; rank < kRanksBeforeLoss; ++rank)
    children.emplace_back([&, rank] { loop_until_stop(board, rank); });
  REQUIRE(reached(board.rounds, 20 * kRanksBeforeLoss));
  plug(2, "eth0", false);
  std::this_thread::sleep_for(std::chrono::seconds(40));
  CHECK(reached(board.rounds, board.rounds + kRanksBeforeLoss));
  plug(2, "eth0", true);
  board.stop = 1;
  for (Child& child : children) CHECK(child.wait(base::Seconds(90)).value_or(-1) == 0);
}

}  // namespace heddle::test
