// What connections cost while nothing is sent over them.
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check::cost {
namespace {

constexpr double kIdleShare = 0.05;  // of a processor
constexpr double kUnusedKib = 1024;  // of an unused connection
constexpr int kConnections = 256;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

// Of one processor, over this time of sleep.
double share_over(double seconds) {
  const auto start = base::Clock::now();
  const double used = processor_seconds();
  std::this_thread::sleep_for(base::Seconds(seconds));
  return (processor_seconds() - used) / base::seconds_since(start);
}

double resident_kib() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace

Finding idle(Rank& rank) {
  const auto links = ring(rank);
  const Buffer out(links.out[0], 1000), in(links.in[0], 1000);
  Exchange exchange(rank);
  exchange.receive(links.in[0], in, 1000);
  exchange.send(links.out[0], out, 1000);
  exchange.run();
  rank.mail.barrier(rank.patience());
  const double none = share_over(1);
  Exchange waiting(rank);
  waiting.receive(links.in[0], in, 1000);
  waiting.post_all();
  const double posted = share_over(0.3);
  rank.mail.barrier(rank.patience());
  waiting.send(links.out[0], out, 1000);
  waiting.run();
  rank.mail.barrier(rank.patience());
  const auto text =
      fmt::format("{:.1f} % of a processor; {:.1f} % with a receive that nobody tests", 100 * none,
                  100 * posted);
  if (none >= kIdleShare) fault("{}", text);
  return text;
}

Finding memory(Rank& rank) {
  std::vector<Comm> first, comms;
  const auto connect = [&](int count) {
    return rank.number == 0 ? send_comms_to(rank, 1, count) : receive_comms_from(rank, 0, count);
  };
  first = connect(1);  // what all share is there from now on
  const double before = resident_kib();
  comms = connect(kConnections);
  const double own = (resident_kib() - before) / kConnections;
  double theirs = 0;
  if (rank.number == 1)
    rank.mail.send(0, own);
  else
    theirs = rank.mail.receive<double>(1, rank.patience());
  for (auto& comm : comms) comm.close();
  rank.mail.barrier(rank.patience());
  if (rank.number == 1) return {};
  return {fmt::format("{:.0f} KiB for a send comm, {:.0f} KiB for a receive comm ({} unused)", own,
                      theirs, kConnections),
          std::max(own, theirs) > kUnusedKib};
}

}  // namespace heddle::net_check::cost
