// What this machine can do at best, in the terms of which a collective's limit is made:
//   limits memory BYTES   copy, c = a + b, a += b: GB/s of one buffer, summed over all cores
//   limits tcp            one loopback connection, both ways at once: GB/s, summed
//   limits line           a cache line from core to core and back, halved: us
// Prints "name value" lines. Buffers are private to a core, touched, of 4 KiB pages.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "common.hpp"

namespace heddle::bench::peers {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

enum class Kernel { copy, add_to_third, add_in_place };

__attribute__((noinline)) void apply(Kernel kernel, float* __restrict a, const float* __restrict b,
                                     const float* __restrict c, std::size_t count) {
  if (kernel == Kernel::copy)
    std::memcpy(a, b, count * sizeof(float));
  else if (kernel == Kernel::add_to_third)
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + c[i];
  else
    for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
}

double memory_rate(Kernel kernel, std::size_t bytes) {
  const std::vector<int> cores = allowed_cores();
  const int calls = std::max(3, static_cast<int>(1e9 / static_cast<double>(bytes)));
  std::atomic<std::size_t> ready = 0;
  std::vector<double> rates(cores.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < cores.size(); ++t)
    threads.emplace_back([&, t] {
      stay_on(cores[t]);
      float* a = touched_floats(bytes);
      float* b = touched_floats(bytes);
      float* c = touched_floats(bytes);
      apply(kernel, a, b, c, bytes / sizeof(float));
      for (++ready; ready < cores.size();) sched_yield();
      std::vector<double> runs;
      for (int run = 0; run < 3; ++run) {
        const double start = now();
        for (int i = 0; i < calls; ++i) apply(kernel, a, b, c, bytes / sizeof(float));
        runs.push_back(static_cast<double>(bytes) * calls / (now() - start) / 1e9);
      }
      rates[t] = median(runs);
      for (float* buffer : {a, b, c}) std::free(buffer);
    });
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double line_latency() {
  constexpr int kRounds = 200000;
  struct alignas(128) Line {
    std::atomic<int> value = 0;
  } there, back;
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) return 0;
  std::thread echo([&] {
    stay_on(cores[1]);
    for (int i = 1; i <= kRounds; ++i) {
      while (there.value.load(std::memory_order_acquire) != i) {
      }
      back.value.store(i, std::memory_order_release);
    }
  });
  stay_on(cores[0]);
  const double start = now();
  for (int i = 1; i <= kRounds; ++i) {
    there.value.store(i, std::memory_order_release);
    while (back.value.load(std::memory_order_acquire) != i) {
    }
  }
  const double time = now() - start;
  echo.join();
  return time / kRounds / 2 * 1e6;
}

void must(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(2);
}

// A connection over loopback: its two ends.
std::pair<int, int> loopback_pair() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  must(bind(listener, generic, length) == 0 && listen(listener, 1) == 0 &&
           getsockname(listener, generic, &length) == 0,
       "listen");
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  must(connect(one, generic, length) == 0, "connect");
  const int other = accept(listener, nullptr, nullptr);
  must(other >= 0, "accept");
  close(listener);
  for (const int end : {one, other}) {
    const int on = 1;
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return {one, other};
}

double tcp_rate() {
  const std::size_t kBlock = 4u << 20;
  constexpr int kBlocks = 150;
  const auto [one, other] = loopback_pair();
  const auto sender = [=](int end) {
    const std::vector<char> block(kBlock, 1);
    for (std::size_t left = kBlock * kBlocks; left > 0;) {
      const ssize_t sent = send(end, block.data(), std::min(left, kBlock), 0);
      must(sent > 0, "send");
      left -= static_cast<std::size_t>(sent);
    }
  };
  const auto receiver = [=](int end) {
    std::vector<char> block(kBlock);
    for (std::size_t left = kBlock * kBlocks; left > 0;) {
      const ssize_t got = recv(end, block.data(), std::min(left, kBlock), 0);
      must(got > 0, "recv");
      left -= static_cast<std::size_t>(got);
    }
  };
  const double start = now();
  std::vector<std::thread> threads;
  for (const int end : {one, other}) {
    threads.emplace_back(sender, end);
    threads.emplace_back(receiver, end);
  }
  for (std::thread& thread : threads) thread.join();
  const double time = now() - start;
  close(one);
  close(other);
  return 2.0 * kBlock * kBlocks / time / 1e9;
}

}  // namespace
}  // namespace heddle::bench::peers

int main(int argc, char** argv) {
  using namespace heddle::bench::peers;
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "memory" && argc == 3) {
    const std::size_t bytes = parse_size(argv[2]);
    std::printf("copy %.3f\n", memory_rate(Kernel::copy, bytes));
    std::printf("add3 %.3f\n", memory_rate(Kernel::add_to_third, bytes));
    std::printf("add2 %.3f\n", memory_rate(Kernel::add_in_place, bytes));
  } else if (what == "tcp") {
    std::printf("tcp %.3f\n", tcp_rate());
  } else if (what == "line") {
    std::printf("line %.3f\n", line_latency());
  } else {
    std::fprintf(stderr, "usage: limits memory BYTES | limits tcp | limits line\n");
    return 6;
  }
}
