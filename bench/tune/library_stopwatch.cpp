#include "tune/library_stopwatch.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>

#include "topology/machine_json.hpp"

namespace heddle::bench::tune {
namespace {

// Communicators that may be open at once: the slots of each are megabytes for every pair of ranks
// and channel, and all of them together shall take no more than a quarter of a host's memory.
std::size_t most_open(const World& world) {
  constexpr double kMeanChannels = 7.0 / 3;  // of 1, 2 and 4
  const topology::SoftwareModel slots;
  const double one = kMeanChannels * std::max(world.ranks_per_host, 1) * (world.ranks - 1) *
                     slots.slots * static_cast<double>(slots.slot_bytes);
  return static_cast<std::size_t>(
      std::clamp(static_cast<double>(world.memory) / 4 / one, 4.0, 200.0));
}

constexpr std::size_t kLongBytes = 1 << 20;

constexpr int kAttempts = 5;
constexpr double kShortSeconds = 0.004;  // of a sample

// Of this thread: how often another one took its core.
long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TuningFile::TuningFile(const topology::Machine& machine)
    : fd_(memfd_create("heddle-tune", MFD_CLOEXEC)) {
  const std::string text = topology::machine_json(machine);
  if (!fd_ || write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error(heddleSystemError, fmt::format("memory for a file of {} bytes: {}", text.size(),
                                               std::generic_category().message(errno)));
}

std::string TuningFile::setting() const {
  return fmt::format("HEDDLE_TUNING_FILE=/proc/self/fd/{}", fd_.get());
}

LibraryStopwatch::LibraryStopwatch(Control& control, const World& world, OpenSession open_session,
                                   std::size_t max_bytes)
    : control_(control),
      world_(world),
      open_session_(std::move(open_session)),
      send_(std::max<std::size_t>(max_bytes, 64)),
      receive_(std::max<std::size_t>(max_bytes, 64)) {}

Session& LibraryStopwatch::session_of(const Candidate& candidate) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.candidate == candidate; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return *open_.front().session;
  }
  if (open_.size() >= most_open(world_)) open_.pop_back();
  const TuningFile file(forcing(candidate, world_));
  open_.push_front({candidate, open_session_(file.setting() + settings_)});
  return *open_.front().session;
}

double LibraryStopwatch::time(const Candidate& candidate, const Cell& cell, int operations) {
  return time(session_of(candidate), cell, operations);
}

double LibraryStopwatch::time(Session& session, const Cell& cell, int operations) {
  // Where every rank has a core, a rank that was put aside waited for another program: such a
  // sample is taken again, if it is short. With more ranks than cores they put each other aside.
  const bool own_cores = world_.ranks_per_host > 0 && world_.ranks_per_host <= world_.cores;
  double fastest = std::numeric_limits<double>::max();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Sample sample = sample_once(session, cell, operations);
    fastest = std::min(fastest, sample.seconds);
    if (!own_cores || !sample.disturbed) return sample.seconds;
    if (sample.seconds * operations > kShortSeconds && attempt > 0) break;
  }
  return fastest;
}

LibraryStopwatch::Sample LibraryStopwatch::sample_once(Session& session, const Cell& cell,
                                                       int operations) {
  const Benchmark& benchmark = benchmark_of(cell.collective);
  const Step step{
      world_.rank,
      world_.ranks,
      false,
      {send_.data(), receive_.data(), count_of(cell, world_.ranks), heddleFloat32, Op::sum, 0}};
  control_.barrier();
  // Ranks leave a barrier less evenly than an operation, which matters to short ones.
  if (cell.bytes < kLongBytes) benchmark.run(session, step);
  const long switches = involuntary_switches();
  const double start = clock_seconds();
  for (int i = 0; i < operations; ++i) benchmark.run(session, step);
  const Sample mine{(clock_seconds() - start) / operations, involuntary_switches() != switches};
  std::vector<Sample> all(static_cast<std::size_t>(world_.ranks));
  control_.all_gather(&mine, all.data(), sizeof mine);
  Sample slowest{};
  for (const Sample& each : all) {
    slowest.seconds = std::max(slowest.seconds, each.seconds);
    slowest.disturbed = slowest.disturbed || each.disturbed;
  }
  return slowest;
}

double LibraryStopwatch::now() { return control_.all_gather(clock_seconds()).front(); }

}  // namespace heddle::bench::tune
