// What a plugin should survive, though NCCL does not do it.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check::misuse {
namespace {

// A message over a new pair, of which one end gives this as the registration. Either that end is
// refused, or the message comes. Throws Failure.
std::string with_memory(Rank& rank, bool at_sender, std::size_t bytes, bool null) {
  const auto pair = loopback(rank);
  const Buffer out(pair.out, bytes), in(pair.in, bytes);
  const Buffer other(at_sender ? pair.out : pair.in, 64);
  void* wrong = null ? nullptr : other.memory();
  fill(out.span(), rank.settings.seed + bytes);
  Exchange exchange(rank);
  auto& receive =
      exchange.receive(pair.in, {{in.data(), bytes, 0, at_sender ? in.memory() : wrong}});
  auto& send = exchange.send(pair.out, {out.data(), bytes, 0, at_sender ? wrong : out.memory()});
  auto& bad = at_sender ? send : receive;
  auto& good = at_sender ? receive : send;
  const base::Deadline deadline{base::Seconds(std::min(3.0, rank.settings.patience))};
  // A refused message leaves the other end waiting, if nothing tells it.
  while (!deadline.passed() && !bad.failed_in && !(bad.over && good.over)) exchange.step();
  in.check_untouched_but(0, bytes);
  const char* end = at_sender ? "isend" : "irecv";
  if (bad.failed_in) return fmt::format("{} of {} B: {}", end, bytes, bad.state());
  if (good.failed_in) return fmt::format("{} of {} B: the other end, {}", end, bytes, good.state());
  if (!bad.over || !good.over) fault("{} of {} B: neither done nor refused", end, bytes);
  in.check(0, bytes, rank.settings.seed + bytes);
  return fmt::format("{} of {} B: works", end, bytes);
}

std::string all_with_memory(Rank& rank, bool null) {
  std::string text;
  for (const bool at_sender : {true, false})
    for (const std::size_t bytes : {16, 1 << 20})
      text += (text.empty() ? "" : "; ") + with_memory(rank, at_sender, bytes, null);
  return text;
}

}  // namespace

Finding null_memory(Rank& rank) { return all_with_memory(rank, true); }
Finding other_memory(Rank& rank) { return all_with_memory(rank, false); }

namespace {

// What a forked child ended with, in words. It has 3 seconds.
template <typename Body>
std::string forked_child(Body body) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) base::fail_errno(errno, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    doing = nullptr;
    _exit(body());
  }
  int status = 0;
  const base::Deadline deadline{base::Seconds(3)};
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!deadline.passed()) continue;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return "the child's call hangs";
  }
  if (WIFSIGNALED(status)) return fmt::format("the child: {}", strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? "the child's calls succeed" : "the child's calls are refused";
}

void transfer(Rank& rank, const Pair& pair, std::size_t bytes) {
  const Buffer out(pair.out, bytes), in(pair.in, bytes);
  fill(out.span(), rank.settings.seed + bytes);
  Exchange exchange(rank);
  exchange.receive(pair.in, in, bytes);
  exchange.send(pair.out, out, bytes);
  exchange.run();
  in.check(0, bytes, rank.settings.seed + bytes);
}

void still_works(Rank& rank, const Pair& pair) {
  for (const std::size_t bytes : {100, 1 << 20}) transfer(rank, pair, bytes);
  const auto another = loopback(rank);
  transfer(rank, another, 1000);
}

}  // namespace

Finding forked(Rank& rank) {
  const auto pair = loopback(rank);
  transfer(rank, pair, 1000);
  const auto text = forked_child([&] {
    int devices = 0;
    Properties properties;
    Handle handle{};
    void* comm = nullptr;
    auto& net = rank.net();
    Result result = net.devices(&devices);
    if (result == Result::success) result = net.properties(rank.settings.device, &properties);
    if (result == Result::success)
      result = net.listen(rank.context(), rank.settings.device, handle, &comm);
    if (result == Result::success && comm) result = net.close_listen(comm);
    return result == Result::success ? 0 : 1;
  });
  still_works(rank, pair);
  return text;
}

Finding forked_comm(Rank& rank) {
  const auto pair = loopback(rank);
  transfer(rank, pair, 1000);
  const Buffer out(pair.out, 1000), in(pair.in, 1000);
  const auto text = forked_child([&] {
    Exchange exchange(rank);
    const auto& receive = exchange.receive(pair.in, in, 1000);
    exchange.send(pair.out, out, 1000);
    exchange.settle(1);
    return receive.done() ? 0 : 1;
  });
  still_works(rank, pair);
  return text;
}

}  // namespace heddle::net_check::misuse
