// Half round trips and one-way bandwidth between two processes.
#include <sched.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check {
namespace {

constexpr std::size_t kInFlight = 8;  // NCCL's steps
constexpr std::size_t kMost = 64 << 20;
constexpr int kRepeats = 5;
constexpr double kRepeatSeconds = 0.04;
constexpr double kAllSeconds = 15;  // no larger size is begun after that

// The plugin's calls, until they give what is waited for. For one thread.
class Wire {
 public:
  explicit Wire(Rank& rank)
      : rank_(rank), links_(ring(rank)), out_(links_.out[0], kMost), in_(links_.in[0], kMost) {}

  void* send(std::size_t bytes, std::size_t at = 0) {
    return posted("isend", [&](void** request) {
      return rank_.net().send(links_.out[0].get(), out_.data() + at, bytes, 0, out_.memory(),
                              request);
    });
  }
  void* receive(std::size_t bytes, std::size_t at = 0) {
    void* data = in_.data() + at;
    void* memory = in_.memory();
    int tag = 0;
    return posted("irecv", [&](void** request) {
      return rank_.net().receive(links_.in[0].get(), 1, &data, &bytes, &tag, &memory, request);
    });
  }
  bool done(void* request) {
    int done = 0;
    std::array<int, 64> sizes{};
    expect(rank_.net().test(request, &done, sizes.data()), "test");
    return done != 0;
  }
  void wait(void* request) {
    Patience patience(rank_);
    while (!done(request)) patience.spend("a message");
  }

 private:
  // Looks at the clock now and then.
  class Patience {
   public:
    explicit Patience(Rank& rank) : rank_(rank) {}
    void spend(const char* what) {
      if (++turns_ % 64 == 0) sched_yield();
      if (turns_ % 1024 == 0 && deadline_.passed())
        fault("{} took more than {} s", what, rank_.settings.patience);
    }

   private:
    Rank& rank_;
    unsigned turns_ = 0;
    base::Deadline deadline_{rank_.patience()};
  };

  template <typename Call>
  void* posted(const char* name, Call call) {
    Patience patience(rank_);
    for (;;) {
      void* request = nullptr;
      expect(call(&request), name);
      if (request) return request;
      patience.spend(name);
    }
  }

  Rank& rank_;
  Links links_;
  Buffer out_, in_;
};

// `count` messages there and back. The receive of the next is posted before the answer to this one.
double round_trips(Rank& rank, Wire& wire, std::size_t bytes, int count) {
  void* receive = wire.receive(bytes);
  rank.mail.barrier(rank.patience());
  const auto start = base::Clock::now();
  for (int i = 0; i < count; ++i) {
    void* next = nullptr;
    if (rank.number == 0) wire.wait(wire.send(bytes));
    wire.wait(receive);
    if (i + 1 < count) next = wire.receive(bytes);
    if (rank.number == 1) wire.wait(wire.send(bytes));
    receive = next;
  }
  return base::seconds_since(start) / count;
}

// `count` messages from rank 0 to rank 1, and an answer when all are there.
double stream(Rank& rank, Wire& wire, std::size_t bytes, int count) {
  const std::size_t room = std::max<std::size_t>(kMost / bytes, 1);
  std::array<void*, kInFlight> requests{};
  void* answer = nullptr;
  if (rank.number == 0) answer = wire.receive(1);
  rank.mail.barrier(rank.patience());
  const auto start = base::Clock::now();
  for (int i = 0; i < count; ++i) {
    auto& request = requests[i % kInFlight];
    if (request) wire.wait(request);
    const std::size_t at = (i % kInFlight % room) * bytes;
    request = rank.number == 0 ? wire.send(bytes, at) : wire.receive(bytes, at);
  }
  for (int i = count; i < count + static_cast<int>(kInFlight); ++i)
    if (void* request = requests[i % kInFlight]) wire.wait(request);
  if (rank.number == 1)
    wire.wait(wire.send(1));
  else
    wire.wait(answer);
  return base::seconds_since(start) / count;
}

// The same number on both ranks: what fits the time, judged by a first try on rank 0.
template <typename Run>
double median(Rank& rank, int least, int most, double seconds, Run run) {
  run(least);
  const double once = run(least);
  int count = 0;
  if (rank.number == 0) {
    count = static_cast<int>(std::clamp(seconds / once, double(least), double(most)));
    rank.mail.send(1, count);
  } else {
    count = rank.mail.receive<int>(0, rank.patience());
  }
  std::array<double, kRepeats> times{};
  for (auto& time : times) time = run(count);
  std::sort(times.begin(), times.end());
  return times[kRepeats / 2];
}

// Rank 0 decides whether there is time for one more.
bool both_go_on(Rank& rank, base::Clock::time_point start) {
  if (rank.number != 0) return rank.mail.receive<bool>(0, rank.patience());
  const bool go_on = base::seconds_since(start) < kAllSeconds;
  rank.mail.send(1, go_on);
  return go_on;
}

}  // namespace

Finding measure(Rank& rank) {
  const auto start = base::Clock::now();
  Wire wire(rank);
  auto rows = nlohmann::json::array();
  for (std::size_t bytes = 8; bytes <= kMost; bytes = bytes < (256 << 10) ? 8 * bytes : 4 * bytes) {
    if (bytes > rank.properties().most_bytes || !both_go_on(rank, start)) break;
    const double trip = median(rank, 1, 2000, kRepeatSeconds,
                               [&](int count) { return round_trips(rank, wire, bytes, count); });
    const double message = median(rank, kInFlight, 4000, 2 * kRepeatSeconds,
                                  [&](int count) { return stream(rank, wire, bytes, count); });
    rows.push_back({{"bytes", bytes},
                    {"half_round_trip_us", 1e6 * trip / 2},
                    {"bandwidth_gbs", 1e-9 * static_cast<double>(bytes) / message}});
  }
  rank.mail.barrier(rank.patience());
  Finding finding;
  if (rank.number == 0) finding.data = rows.dump();
  return finding;
}

}  // namespace heddle::net_check
