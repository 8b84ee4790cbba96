// What shared-memory pipes cost: one-way latency and stream bandwidth between two processes on two
// cores, beside the bare ping-pong of one cache line that bounds the latency from below.
//
//   shared_memory_pingpong [core of rank 0] [core of rank 1]
//
// Latency: half a round trip. Bandwidth: the sender copies a buffer of its own into
// the slot and the receiver copies it out, as a collective that cannot reduce in place would.
// Each row is the median and the best of many short runs: other load shows as a gap between the
// two.
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "transport/shared_memory/transport.hpp"

namespace {

using namespace heddle;
using base::Clock;

constexpr int kRuns = 21;
constexpr base::Seconds kPatience{20};

struct Pair {
  std::unique_ptr<transport::SendPipe> out;
  std::unique_ptr<transport::ReceivePipe> in;
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    base::fail_errno(errno, fmt::format("cannot run on core {}", core));
}

// The other process's words, or this process ends: a benchmark must not wait for the dead.
std::string trade(int socket, const std::string& mine) {
  char text[256] = {};
  if (write(socket, mine.data(), mine.size()) != static_cast<ssize_t>(mine.size()) ||
      read(socket, text, sizeof text - 1) <= 0)
    base::fail(heddleRemoteError, "the other process has ended");
  return text;
}

Pair make_pair_of_pipes(transport::SharedMemoryTransport& shm, int socket, int rank,
                        const transport::PipeOptions& options) {
  const transport::CommunicatorId id = {1};
  shm.add_secret(id, transport::PipeSecret{2});
  const std::string peer = trade(socket, shm.address());
  Pair pipes;
  const base::Deadline deadline(kPatience);
  while (!pipes.out || !pipes.in) {
    if (deadline.passed()) base::fail(heddleTimeout, "the pipes were not made in time");
    if (!pipes.out) pipes.out = shm.connect(peer, {id, rank, 1 - rank, 0}, options);
    if (!pipes.in) pipes.in = shm.accept(peer, {id, 1 - rank, rank, 0}, options);
  }
  return pipes;
}

template <typename Attempt>
auto wait_for(Attempt attempt) {
  for (std::uint64_t spins = 1;; ++spins) {
    if (auto got = attempt()) return got;
    if (spins % (1u << 28) == 0) base::fail(heddleTimeout, "no message");
  }
}

void send(Pair& pipes, const std::byte* data, std::size_t bytes) {
  std::memcpy(wait_for([&] { return pipes.out->acquire(bytes); }), data, bytes);
  pipes.out->commit(bytes);
}

void receive(Pair& pipes, std::byte* data, std::size_t bytes) {
  std::memcpy(data, wait_for([&] { return pipes.in->peek(bytes); }), bytes);
  pipes.in->release();
}

struct Result {
  double median;
  double best;
};

Result summary(std::vector<double> values, bool more_is_better) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], more_is_better ? values.back() : values.front()};
}

// Microseconds one way.
Result pipe_latency(Pair& pipes, int rank, std::size_t bytes) {
  const int rounds = bytes <= 4096 ? 3000 : 300;
  std::vector<std::byte> data(bytes, std::byte{1});
  std::vector<double> runs;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) send(pipes, data.data(), bytes);
      receive(pipes, data.data(), bytes);
      if (rank == 1) send(pipes, data.data(), bytes);
    }
    runs.push_back(base::seconds_since(start) / rounds / 2 * 1e6);
  }
  return summary(std::move(runs), false);
}

// Gigabytes a second; rank 0 sends.
Result stream(Pair& pipes, int rank, std::size_t bytes) {
  const auto rounds = static_cast<int>((std::size_t{1} << 26) / bytes);
  std::vector<std::byte> data(bytes, std::byte{1});
  std::vector<double> runs;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i)
      rank == 0 ? send(pipes, data.data(), bytes) : receive(pipes, data.data(), bytes);
    std::byte done{1};
    rank == 0 ? receive(pipes, &done, 1) : send(pipes, &done, 1);
    runs.push_back(static_cast<double>(bytes) * rounds / base::seconds_since(start) / 1e9);
  }
  return summary(std::move(runs), true);
}

struct Lines {
  alignas(128) std::atomic<int> ping;
  alignas(128) std::atomic<int> pong;
};

Result line_latency(Lines& lines, int rank) {
  constexpr int kRounds = 3000;
  std::vector<double> runs;
  int number = 0;
  auto wait = [](std::atomic<int>& line, int value) {
    wait_for([&] { return line.load(std::memory_order_acquire) == value; });
  };
  for (int run = 0; run < kRuns; ++run) {
    const auto start = Clock::now();
    for (int i = 0; i < kRounds; ++i) {
      ++number;
      if (rank == 0) lines.ping.store(number, std::memory_order_release);
      wait(rank == 0 ? lines.pong : lines.ping, number);
      if (rank == 1) lines.pong.store(number, std::memory_order_release);
    }
    runs.push_back(base::seconds_since(start) / kRounds / 2 * 1e6);
  }
  return summary(std::move(runs), false);
}

void run_rank(int rank, int core, int socket, Lines& lines) {
  pin(core);
  transport::SharedMemoryTransport shm;
  Pair pipes = make_pair_of_pipes(shm, socket, rank, {8, std::size_t{1} << 20});
  auto row = [rank](const char* what, std::size_t bytes, Result result, const char* unit) {
    if (rank != 0) return;
    std::printf("%-10s %8zu B  median %8.3f  best %8.3f  %s\n", what, bytes, result.median,
                result.best, unit);
    std::fflush(stdout);
  };
  trade(socket, "go");
  row("cache line", 4, line_latency(lines, rank), "us one way");
  for (const std::size_t bytes : {8, 48, 64, 112, 256, 1024, 4096, 65536})
    row("pipe", bytes, pipe_latency(pipes, rank, bytes), "us one way");
  for (const std::size_t bytes : {4096, 16384, 65536, 131072, 262144, 524288, 1048576})
    row("stream", bytes, stream(pipes, rank, bytes), "GB/s");
  trade(socket, "bye");
}

int main_of_rank(int rank, int core, int socket, Lines& lines) {
  try {
    run_rank(rank, core, socket, lines);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int cores[2] = {argc > 1 ? std::atoi(argv[1]) : 0, argc > 2 ? std::atoi(argv[2]) : 1};
  int sockets[2];
  void* const memory =
      mmap(nullptr, sizeof(Lines), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) {
    std::perror("shared_memory_pingpong");
    return 1;
  }
  Lines& lines = *new (memory) Lines{};
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0;
  close(sockets[1 - rank]);
  const int result = main_of_rank(rank, cores[rank], sockets[rank], lines);
  if (rank == 1) _exit(result);
  close(sockets[0]);  // a child that still waits for a word of this process gets an end of file
  int status = 0;
  waitpid(child, &status, 0);
  return result != 0 || status != 0 ? 1 : 0;
}
