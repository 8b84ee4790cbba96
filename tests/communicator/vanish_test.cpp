// Case kill-stop-vanish: a host loses power, or its network. Nothing is closed and nothing answers.
// Each rank is on a host of its own, of the emulated cluster that TEST_CLUSTER names.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/fd.hpp"
#include "catch.hpp"
#include "loss.hpp"
#include "ranks.hpp"

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

// Takes the host's cables off the switches, or puts them back; the host's own links stay up.
void plug(int host, bool in) {
  for (const std::string device : {"eth0", "r0"}) {
    const std::string port = device + "-" + std::to_string(host);
    const std::string to = in ? " master br-" + device : " nomaster";
    const std::string command = "ip -n " + cluster() + "-switch link set " + port + to;
    INFO(command);
    REQUIRE(std::system(command.c_str()) == 0);
  }
}

void check_vanishing(int victim, const std::string& settings, const std::string& blamed,
                     double within) {
  INFO("host " << victim << " vanishes, settings \"" << settings << "\"");
  check_loss({.victim = victim,
              .settings = settings + " HEDDLE_LOG=error",
              .blamed = blamed,
              .prepare = enter_host,
              .strike = [&](pid_t) { plug(victim, false); },
              .within = within,
              .victim_runs_on = true});
  plug(victim, true);
}

}  // namespace

TEST_CASE("kill-stop-vanish: a host without power") {
  const int victim = GENERATE(2, 0);  // rank 0's process is also where the ranks meet
  check_vanishing(victim, "HEDDLE_TIMEOUT=5", victim == 0 ? " on host " : "rank 2 on host ", 10);
}

TEST_CASE("kill-stop-vanish: a host without power is missed before the timeout") {
  const int victim = GENERATE(2, 0);
  const std::string name = "rank " + std::to_string(victim) + " on host " + cluster();
  check_vanishing(victim, "", name, 45);  // of 600
}

}  // namespace heddle::test
