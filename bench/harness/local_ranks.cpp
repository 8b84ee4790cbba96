#include "harness/local_ranks.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "heddle/heddle.hpp"

namespace heddle::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = 0;
  bool running = true;
};

[[noreturn]] void run_child(SharedRegion& region, int rank, int ranks, pid_t parent,
                            const std::function<int(Control&)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(1);  // the parent died before the line above
  SharedControl control(region, rank, ranks);
  const int status = body(control);
  std::fflush(nullptr);
  std::exit(status);
}

// The exit status that a wait status stands for; tells standard error of a child that failed, if it
// is the first or did not end by itself.
int judge(int rank, pid_t pid, int status, bool first) {
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    if (code != 0 && first)
      fmt::print(stderr, "rank {} (pid {}) ended with status {}\n", rank, pid, code);
    return code;
  }
  const int number = WTERMSIG(status);
  fmt::print(stderr, "rank {} (pid {}) was ended by signal {} ({})\n", rank, pid, number,
             strsignal(number));
  return 1;
}

// Reaps what has ended; the result of the first failure goes to `failure` if that is still 0.
int reap(std::vector<Child>& children, int& failure) {
  int running = 0;
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    Child& child = children[rank];
    int status = 0;
    if (child.running && waitpid(child.pid, &status, WNOHANG) == child.pid) {
      child.running = false;
      const int code = judge(static_cast<int>(rank), child.pid, status, failure == 0);
      if (failure == 0) failure = code;
    }
    running += child.running ? 1 : 0;
  }
  return running;
}

void kill_all(std::vector<Child>& children) {
  for (Child& child : children) {
    if (!child.running) continue;
    kill(child.pid, SIGKILL);
    waitpid(child.pid, nullptr, 0);
    child.running = false;
  }
}

}  // namespace

int run_local_ranks(int ranks, const std::function<int(Control&)>& body) {
  constexpr auto kPoll = std::chrono::milliseconds(20);
  constexpr auto kGrace = std::chrono::seconds(2);
  SharedRegion region(ranks);
  std::fflush(nullptr);
  std::vector<Child> children;
  const pid_t parent = getpid();
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) run_child(region, rank, ranks, parent, body);
    if (pid < 0) {
      const int error = errno;
      kill_all(children);
      throw Error(heddleSystemError, fmt::format("fork of rank {} of {}: {}", rank, ranks,
                                                 std::generic_category().message(error)));
    }
    children.push_back({pid});
  }
  int failure = 0;
  Clock::time_point failed;
  while (reap(children, failure) > 0) {
    if (failure != 0) {
      if (failed == Clock::time_point{}) failed = Clock::now();
      if (Clock::now() - failed > kGrace) kill_all(children);
    }
    std::this_thread::sleep_for(kPoll);
  }
  return failure;
}

}  // namespace heddle::bench
