#include "tune/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <numeric>

#include "collectives/rounds.hpp"
#include "device/reduce.hpp"

namespace heddle::bench::tune {
namespace {

constexpr int kSamples = 9, kLeastSamples = 3;
constexpr double kSampleShare = 0.01;     // of the seconds for all, at most
constexpr std::size_t kStream = 4 << 20;  // bytes of a message that shows a bandwidth
constexpr std::size_t kSmall = 8;         // and of one that shows a latency
constexpr std::size_t kSmallSlot = 4096;
constexpr int kManySlots = 64;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Two ways of doing the same, timed in turn.
struct Pair {
  double first, second;
};

class Prober {
 public:
  explicit Prober(const Probe& probe)
      : probe_(probe),
        world_(probe.world),
        per_host_(std::max(world_.ranks_per_host, 1)),
        send_(2 * kStream),
        receive_(kStream),
        start_(probe.control.all_gather(now()).front()) {}

  topology::Machine run();

 private:
  using Work = std::function<void()>;

  std::unique_ptr<Session> open(const std::string& settings) {
    return probe_.open_session(settings);
  }
  // Whether one more sample is to be taken.
  bool wants(int samples) {
    if (samples < kLeastSamples) return true;
    return samples < kSamples && probe_.control.all_gather(now()).front() - start_ < probe_.seconds;
  }
  double once(const Work& work, int times, bool takes_part = true);
  int times_of(const Work& work, int most);
  double time(const Work& work, int most);
  Pair time_both(const Work& first, const Work& second, int most);

  // Sends to the next and receives from the last rank of the host, or the same rank of the next and
  // the last host.
  Work inside(Session& session, std::size_t bytes) {
    const int host = world_.rank / per_host_ * per_host_, local = world_.rank % per_host_;
    return exchange(session, bytes, host + (local + 1) % per_host_,
                    host + (local + per_host_ - 1) % per_host_);
  }
  Work between(Session& session, std::size_t bytes) {
    return exchange(session, bytes, (world_.rank + per_host_) % world_.ranks,
                    (world_.rank + world_.ranks - per_host_) % world_.ranks);
  }
  Work exchange(Session& session, std::size_t bytes, int to, int from) {
    return [this, &session, bytes, to, from] {
      session.exchange({send_.data(), receive_.data(), bytes, heddleUint8, Op::sum, 0}, to, from);
    };
  }

  void measure_rank(topology::Machine& machine);
  Work all_reduce(Session& session, std::size_t bytes) {
    return [this, &session, bytes] {
      session.all_reduce(
          {send_.data(), receive_.data(), bytes / sizeof(float), heddleFloat32, Op::sum, 0});
    };
  }

  void measure_step(topology::Machine& machine);
  void measure_start(topology::Machine& machine, Session& session);
  void measure_inner(topology::Machine& machine, Session& session);
  void measure_adapters(topology::Machine& machine, Session& session);
  void measure_eager(topology::AdapterModel& adapters);
  // Work that all ranks of a host do at once shares its cores.
  double share() const {
    return std::min(1.0, static_cast<double>(world_.cores) / static_cast<double>(per_host_));
  }
  void note(topology::Machine& machine, const std::string& path, const std::string& how) {
    machine.origins[path] = fmt::format("{}: {}", probe_.origin, how);
  }

  const Probe& probe_;
  const World& world_;
  int per_host_;
  std::vector<std::byte> send_, receive_;
  double start_;  // by rank 0's clock
};

// Seconds of one, by the rank that took longest.
double Prober::once(const Work& work, int times, bool takes_part) {
  probe_.control.barrier();
  const double start = now();
  for (int i = 0; takes_part && i < times; ++i) work();
  const std::vector<double> all = probe_.control.all_gather((now() - start) / times);
  return *std::max_element(all.begin(), all.end());
}

// How often a sample does the work: `most`, or less where that would take long. Connects.
int Prober::times_of(const Work& work, int most) {
  once(work, 1);
  const double one = std::max(once(work, std::min(most, 4)), 1e-9);
  return static_cast<int>(std::clamp(kSampleShare * probe_.seconds / one, 1.0, 1.0 * most));
}

double Prober::time(const Work& work, int most) {
  const int times = times_of(work, most);
  std::vector<double> samples;
  for (int i = 0; wants(i); ++i) samples.push_back(once(work, times));
  return median(samples);
}

Pair Prober::time_both(const Work& first, const Work& second, int most) {
  const int times = std::min(times_of(first, most), times_of(second, most));
  std::vector<double> of_first, of_second;
  for (int i = 0; wants(i); ++i) {
    of_first.push_back(once(first, times));
    of_second.push_back(once(second, times));
  }
  return {median(of_first), median(of_second)};
}

// Chunks of a slot, from memory that no cache holds into the few slots of a pipe.
void Prober::measure_rank(topology::Machine& machine) {
  const std::size_t slot = machine.software.slot_bytes;
  const std::size_t slots = std::max<std::size_t>(receive_.size() / 2 / slot, 1);
  const auto pass = [&](std::size_t sources) {
    return [this, slot, slots, sources] {
      for (std::size_t at = 0; at + slot <= kStream; at += slot) {
        const std::array<const std::byte*, 2> from = {&send_[at], &send_[kStream + at]};
        std::byte* const to = &receive_[at / slot % slots * slot];
        device::reduce({.sources = {from.data(), sources},
                        .destinations = {&to, 1},
                        .count = slot / sizeof(float),
                        .type = heddleFloat32,
                        .op = heddleSum});
      }
    };
  };
  const Pair times = time_both(pass(1), pass(2), 2);
  const double copy = times.first * share();
  const double reduce = std::max(times.second - times.first, times.first / 20) * share();
  machine.rank.copy_bandwidth = static_cast<double>(kStream) / copy;
  machine.rank.reduce_bandwidth = static_cast<double>(kStream) / reduce;
  note(machine, "rank.copy_bandwidth_gb_per_s",
       fmt::format("{} KiB chunks of {} MiB into {} slots", slot / 1024, kStream >> 20, slots));
  note(machine, "rank.reduce_bandwidth_gb_per_s", "what a second source adds to that");
}

void Prober::measure_start(topology::Machine& machine, Session& session) {
  machine.software.start_time = time(exchange(session, kSmall, world_.rank, world_.rank), 200);
  note(machine, "software.start_us", "a send and a receive of 8 bytes between a rank and itself");
}

// Where shared memory joins all ranks: the one step of a one-shot all-reduce beside the many of a
// ring, whose every piece is short.
void Prober::measure_step(topology::Machine& machine) {
  const TuningFile one(forcing({"one-shot", 1, 0}, world_)), many(forcing({"ring", 1, 0}, world_));
  const auto one_step = open(one.setting()), all_steps = open(many.setting());
  const auto ranks = static_cast<std::size_t>(world_.ranks);
  const Pair pair = time_both(all_reduce(*one_step, kSmall),
                              all_reduce(*all_steps, ranks * collectives::kPieceAlign), 200);
  const double move = machine.rank.move_time / share();
  const double step = (pair.second - pair.first) / (2 * static_cast<double>(ranks) - 3);
  machine.inner.latency = std::max(step - move, 0.0);
  machine.software.start_time = std::max(pair.first - 2 * move - machine.inner.latency, 0.0);
  note(machine, "inner.latency_us",
       "a step of a ring of short pieces, less a move: ring less one-shot all-reduce");
  note(machine, "software.start_us", "a one-shot all-reduce of 8 bytes, less its step and moves");
}

void Prober::measure_inner(topology::Machine& machine, Session& session) {
  constexpr std::size_t kBytes = kManySlots * kSmallSlot;
  const std::string slots = fmt::format("HEDDLE_SLOTS={} HEDDLE_SLOT_BYTES=", kManySlots);
  const auto small = open(slots + std::to_string(kSmallSlot));
  const auto large = open(slots + std::to_string(8 * kSmallSlot));
  const Pair pair = time_both(inside(*small, kBytes), inside(*large, kBytes), 20);
  // A rank sends and receives each message.
  const double moves = 2.0 * (kManySlots - kManySlots / 8.0);
  machine.rank.move_time = std::max(pair.first - pair.second, 0.0) * share() / moves;
  note(machine, "rank.move_us", "256 KiB in messages of 4 KiB, less the same in those of 32 KiB");
  if (world_.hosts == 1) {
    measure_step(machine);
  } else {
    const double one = time(inside(session, kSmall), 100);
    machine.inner.latency =
        std::max(one - machine.software.start_time - 2 * machine.rank.move_time / share(), 0.0);
    note(machine, "inner.latency_us",
         "sends and receives of 8 bytes round the host, less start and moves");
  }
  const double stream = time(inside(session, kStream), 2);
  machine.inner.bandwidth = static_cast<double>(per_host_) * kStream / stream;
  note(machine, "inner.bandwidth_gb_per_s",
       "sends and receives of 4 MiB round the host, all ranks at once");
}

// Eager messages and those that wait for a receive buffer, by size.
void Prober::measure_eager(topology::AdapterModel& adapters) {
  const auto eager = open("HEDDLE_EAGER_BYTES=64K");
  const auto rendezvous = open("HEDDLE_EAGER_BYTES=0");
  adapters.eager_bytes = 0;
  bool crossed = false;
  for (std::size_t bytes = 512; bytes <= 64 << 10; bytes *= 2) {
    const Pair pair = time_both(between(*eager, bytes), between(*rendezvous, bytes), 20);
    if (bytes == 512) adapters.rendezvous_time = std::max(pair.second - pair.first, 0.0);
    crossed = crossed || pair.first > pair.second;
    if (!crossed) adapters.eager_bytes = bytes;
  }
}

void Prober::measure_adapters(topology::Machine& machine, Session& session) {
  topology::AdapterModel& adapters = machine.adapters;
  const std::string network = session.network();
  const auto rails = network.find("rails: ");
  adapters.count = rails == std::string::npos
                       ? 1
                       : 1 + static_cast<int>(std::count(network.begin() + static_cast<long>(rails),
                                                         network.end(), ','));
  note(machine, "adapters.count", network);
  const double one = time(between(session, kSmall), 20);
  adapters.latency =
      std::max(one - machine.software.start_time - 2 * machine.rank.move_time / share(), 0.0);
  note(machine, "adapters.latency_us",
       "sends and receives of 8 bytes between hosts, less the start");
  const double stream = time(between(session, kStream), 1);
  adapters.bandwidth = static_cast<double>(per_host_) * kStream / stream / adapters.count;
  note(machine, "adapters.bandwidth_gb_per_s",
       "sends and receives of 4 MiB between hosts, all ranks at once");
  if (per_host_ > 1) {
    const Work alone = between(session, kStream);
    std::vector<double> samples;
    for (int i = 0; wants(i); ++i) samples.push_back(once(alone, 1, world_.rank % per_host_ == 0));
    const double pipe = kStream / median(samples);
    if (pipe < 0.9 * adapters.bandwidth * adapters.count) {
      adapters.stream_bandwidth = pipe;
      note(machine, "adapters.stream_bandwidth_gb_per_s", "the same with one rank of each host");
    }
  }
  constexpr std::size_t kSlot = 16 << 10;  // beyond what is eager by default
  const std::string slots = fmt::format("HEDDLE_SLOTS={} HEDDLE_SLOT_BYTES=", kManySlots);
  const auto small = open(slots + std::to_string(kSlot));
  const auto large = open(slots + std::to_string(8 * kSlot));
  const Pair pair =
      time_both(between(*small, kManySlots * kSlot), between(*large, kManySlots * kSlot), 2);
  adapters.post_time =
      std::max(pair.first - pair.second, 0.0) * share() / (kManySlots - kManySlots / 8.0);
  note(machine, "adapters.post_us",
       "1 MiB in messages of 16 KiB, less the same in those of 128 KiB");
  measure_eager(adapters);
  note(machine, "adapters.eager_bytes",
       "the largest message that came no later than with a receive buffer first");
  note(machine, "adapters.rendezvous_us", "what such a buffer added to 512 bytes");
}

topology::Machine Prober::run() {
  topology::Machine machine;
  machine.name = probe_.name;
  machine.about = probe_.origin;
  machine.hosts = world_.hosts;
  machine.ranks_per_host = per_host_;
  machine.cores = world_.cores;
  note(machine, "cores", "that a rank may use");
  machine.software.slots = probe_.settings.slots;
  if (probe_.settings.slot_bytes != 0) machine.software.slot_bytes = probe_.settings.slot_bytes;
  probe_.progress.begin("measuring copies and sums");
  measure_rank(machine);
  const auto session = open("");
  if (world_.hosts > 1) measure_start(machine, *session);
  if (per_host_ > 1) {
    probe_.progress.begin("measuring what is between the ranks of a host");
    measure_inner(machine, *session);
  } else {
    machine.inner.bandwidth = machine.rank.copy_bandwidth;
    note(machine, "inner.bandwidth_gb_per_s", "one rank a host: as a rank copies");
  }
  if (world_.hosts > 1) {
    probe_.progress.begin("measuring what is between hosts");
    measure_adapters(machine, *session);
    machine.software.in_place_bytes = machine.adapters.eager_bytes + 1;
  }
  probe_.progress.end();
  return machine;
}

}  // namespace

topology::Machine measure_machine(const Probe& probe) { return Prober(probe).run(); }

}  // namespace heddle::bench::tune
