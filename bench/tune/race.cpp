#include "tune/race.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heddle::bench::tune {
namespace {

// A sample: long beside the reading of a clock and a barrier, short beside a slice of the
// scheduler.
constexpr double kSampleSeconds = 0.001;
constexpr int kMostOperations = 1000;
// An operation that takes longer is a sample of its own.
constexpr double kLongSeconds = 0.004;
// Rounds after which who is far behind drops out.
constexpr int kFirstDrop = 2, kSecondDrop = 4, kThirdDrop = 9;
// So many of the best are tried in smaller chunks.
constexpr std::size_t kRefined = 3;
// Of a race's seconds, for its candidates to enter.
constexpr double kEntering = 0.5;

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

void sample(Stopwatch& stopwatch, const Cell& cell, Timed& timed) {
  timed.samples.push_back(stopwatch.time(timed.candidate, cell, timed.operations));
}

// The first time connects and touches memory, and few short operations show little but how evenly
// the ranks began.
Timed enter(Stopwatch& stopwatch, const Cell& cell, const Candidate& candidate) {
  Timed timed{candidate, {}, 1};
  stopwatch.time(candidate, cell, 1);
  const double first = stopwatch.time(candidate, cell, 1);
  if (first >= kLongSeconds) {
    timed.samples.push_back(first);
    return timed;
  }
  const double once = std::max(stopwatch.time(candidate, cell, 16), 1e-7);
  timed.operations = std::clamp(static_cast<int>(kSampleSeconds / once), 1, kMostOperations);
  sample(stopwatch, cell, timed);
  return timed;
}

bool contains(const std::vector<Candidate>& all, const Candidate& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

void sort_by_median(std::vector<Timed>& timed) {
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return a.stayed != b.stayed ? a.stayed : a.median() < b.median();
  });
}

// Moves the slow ones to `dropped`. By the fastest sample of each: whatever else runs only adds,
// and must not throw the best one out.
void drop(std::vector<Timed>& running, std::vector<Timed>& dropped, double factor,
          const std::vector<Candidate>& keep) {
  sort_by_median(running);
  double least = running.front().fastest();
  for (const Timed& timed : running) least = std::min(least, timed.fastest());
  const auto slow = std::stable_partition(running.begin(), running.end(), [&](const Timed& timed) {
    return timed.fastest() <= least * factor || contains(keep, timed.candidate);
  });
  for (auto timed = slow; timed != running.end(); ++timed) timed->stayed = false;
  std::move(slow, running.end(), std::back_inserter(dropped));
  running.erase(slow, running.end());
}

}  // namespace

double Timed::median() const { return quantile(samples, 0.5); }

double Timed::fastest() const { return *std::min_element(samples.begin(), samples.end()); }

double Timed::noise() const {
  const double spread = quantile(samples, 0.75) - quantile(samples, 0.25);
  // Of a normal distribution the quartiles are 1.349 deviations apart, and the deviation of the
  // median of n is 1.253 / sqrt(n) of one.
  return 0.93 * spread / std::sqrt(static_cast<double>(samples.size())) / median();
}

const Timed* Outcome::find(const Candidate& candidate) const {
  for (const Timed& each : timed)
    if (each.candidate == candidate) return &each;
  return nullptr;
}

Outcome race(Stopwatch& stopwatch, const Cell& cell, const std::vector<Candidate>& candidates,
             const RaceLimits& limits, const std::vector<Candidate>& keep,
             const std::function<std::vector<Candidate>(const Candidate&)>& more) {
  const double start = stopwatch.now();
  const auto in_time = [&](double share) {
    return stopwatch.now() - start < share * limits.seconds;
  };
  std::vector<Timed> running, dropped;
  int left_out = 0;
  const auto let_in = [&](const Candidate& candidate) {
    if (running.empty() || contains(keep, candidate) || in_time(kEntering))
      running.push_back(enter(stopwatch, cell, candidate));
    else
      ++left_out;
  };
  for (const Candidate& candidate : candidates) let_in(candidate);
  if (more) {
    sort_by_median(running);
    std::vector<Candidate> further;
    for (std::size_t i = 0; i < std::min(kRefined, running.size()); ++i)
      for (const Candidate& candidate : more(running[i].candidate)) further.push_back(candidate);
    for (const Candidate& candidate : further) let_in(candidate);
  }
  for (int round = 1; round < limits.rounds; ++round) {
    if (round >= limits.least_rounds && !in_time(1)) break;
    if (round == kFirstDrop) drop(running, dropped, limits.first_drop, keep);
    if (round == kSecondDrop) drop(running, dropped, limits.second_drop, keep);
    if (round == kThirdDrop) drop(running, dropped, limits.third_drop, keep);
    // Another one begins each time: what comes after whom is not always the same.
    std::rotate(running.begin(), running.begin() + 1, running.end());
    for (Timed& timed : running) sample(stopwatch, cell, timed);
  }
  Outcome outcome{cell, std::move(running), left_out};
  std::move(dropped.begin(), dropped.end(), std::back_inserter(outcome.timed));
  sort_by_median(outcome.timed);
  return outcome;
}

Outcome pooled(const Outcome& first, const Outcome& second) {
  Outcome both = first;
  for (Timed& timed : both.timed) {
    const Timed* again = second.find(timed.candidate);
    timed.stayed = again != nullptr && again->stayed;
    if (again == nullptr) continue;
    timed.samples.insert(timed.samples.end(), again->samples.begin(), again->samples.end());
  }
  sort_by_median(both.timed);
  return both;
}

}  // namespace heddle::bench::tune
