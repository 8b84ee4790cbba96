#include "tune/rows.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace heddle::bench::tune {
namespace {

// What a difference of so many standard errors is not.
constexpr double kErrors = 1;
// More noise than that excuses no candidate.
constexpr double kMostNoise = 0.025;

struct Fit {
  Candidate candidate;
  double badness;  // the sum of the logarithms of its times over the best's
};

std::optional<double> badness_at(const Outcome& outcome, const Candidate& candidate,
                                 double tolerance) {
  const Timed* timed = outcome.find(candidate);
  if (timed == nullptr) return {};
  const Timed& best = outcome.best();
  const double noise = std::min(kErrors * std::hypot(timed->noise(), best.noise()), kMostNoise);
  const double ratio = timed->median() / best.median();
  if (ratio > 1 + std::max(tolerance, noise)) return {};
  return std::log(ratio);
}

// The candidates that do at all of these sizes.
std::vector<Fit> fits_of(std::span<const Outcome> outcomes, double tolerance) {
  std::vector<Fit> fits;
  for (const Timed& timed : outcomes.front().timed) {
    Fit fit{timed.candidate, 0};
    bool fine = true;
    for (const Outcome& outcome : outcomes) {
      const auto badness = badness_at(outcome, timed.candidate, tolerance);
      fine = fine && badness.has_value();
      fit.badness += badness.value_or(0);
    }
    if (fine) fits.push_back(fit);
  }
  return fits;
}

std::size_t between(std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

}  // namespace

std::vector<topology::Tuned> rows_of(std::span<const Outcome> outcomes, const World& world,
                                     double tolerance) {
  std::vector<topology::Tuned> rows;
  for (std::size_t first = 0, end = 0; first < outcomes.size(); first = end) {
    std::vector<Fit> fits;
    for (end = first + 1; end <= outcomes.size(); ++end) {
      std::vector<Fit> longer = fits_of(outcomes.subspan(first, end - first), tolerance);
      if (longer.empty()) break;
      fits = std::move(longer);
    }
    --end;
    const auto best = std::min_element(
        fits.begin(), fits.end(), [](const Fit& a, const Fit& b) { return a.badness < b.badness; });
    topology::Tuned& row = rows.emplace_back();
    row.collective = base::name_of(outcomes[first].cell.collective);
    row.hosts = world.hosts;
    row.ranks = world.ranks;
    row.algorithm = best->candidate.algorithm;
    row.channels = best->candidate.channels;
    row.message_bytes = best->candidate.message_bytes;
    if (end < outcomes.size())
      row.up_to_bytes = between(outcomes[end - 1].cell.bytes, outcomes[end].cell.bytes);
  }
  return rows;
}

}  // namespace heddle::bench::tune
