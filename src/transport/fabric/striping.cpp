#include "transport/fabric/striping.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace heddle::transport::fabric {

namespace {

constexpr std::size_t kAlignment = 128;
constexpr double kEqualWithin = 1.5;
constexpr double kWorthAStripe = 130e-6;  // seconds; a request over tcp costs about 15 us
constexpr std::size_t kLeastLeastStripe = 8 << 10, kMostLeastStripe = 64 << 10;
constexpr std::size_t kUnknownLeastStripe = 16 << 10;
constexpr double kLeastSpeed = 1.0 / 20;
// One sample: so much must have gone through in so much busy time.
constexpr double kSampleSeconds = 0.02;
constexpr double kSampleBytes = 1 << 20;
constexpr double kNewSample = 0.3;  // weight of a sample against what was known
// Completions so close together were read at once, whenever they came.
constexpr double kSameMoment = 100e-6;

double finish(const RailLoad& load) { return static_cast<double>(load.under_way) / load.speed; }

const RailLoad& load_of(const Stripe& stripe, std::span<const RailLoad> loads) {
  return loads[static_cast<std::size_t>(stripe.link)];
}

// The time at which links that are done before it could have taken `bytes` more. Of the stripes
// only the links are read; the one that is done first comes first.
double level(std::size_t bytes, std::span<const RailLoad> loads, std::span<const Stripe> stripes) {
  double taken = 0, speed = 0, time = 0;
  for (std::size_t i = 0; i < stripes.size(); ++i) {
    const RailLoad& load = load_of(stripes[i], loads);
    const double reach = finish(load);
    if (i > 0 && taken + (reach - time) * speed >= static_cast<double>(bytes)) break;
    if (i > 0) taken += (reach - time) * speed;
    time = reach;
    speed += load.speed;
  }
  return time + (static_cast<double>(bytes) - taken) / speed;
}

}  // namespace

// Works in `stripes` alone, which its owner uses for message after message: nothing is allocated.
void share_out(std::size_t bytes, std::span<const RailLoad> loads, std::size_t least,
               std::size_t most, std::vector<Stripe>& stripes) {
  stripes.clear();
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (loads[i].usable) stripes.push_back({static_cast<int>(i), 0});
  if (stripes.empty()) return;
  std::ranges::sort(stripes, {}, [&](const Stripe& stripe) {
    return std::pair(finish(load_of(stripe, loads)), stripe.link);
  });
  const std::size_t count = std::clamp<std::size_t>(bytes / least, 1, most);
  if (stripes.size() > count) stripes.resize(count);
  // Links whose share is too small leave, the one with the smallest first.
  while (stripes.size() > 1) {
    const double end = level(bytes, loads, stripes);
    const auto share = [&](const Stripe& stripe) {
      const RailLoad& load = load_of(stripe, loads);
      return (end - finish(load)) * load.speed;
    };
    const auto smallest = std::ranges::min_element(stripes, {}, share);
    if (share(*smallest) >= static_cast<double>(least)) break;
    stripes.erase(smallest);
  }
  const double end = level(bytes, loads, stripes);
  std::ranges::sort(stripes, {}, &Stripe::link);
  std::size_t left = bytes;
  std::size_t used = 0;
  for (; used < stripes.size() && left > 0; ++used) {
    const RailLoad& load = load_of(stripes[used], loads);
    auto part = static_cast<std::size_t>((end - finish(load)) * load.speed);
    part = std::max((part + kAlignment / 2) / kAlignment * kAlignment, kAlignment);
    if (used + 1 == stripes.size() || part > left) part = left;
    stripes[used].bytes = part;
    left -= part;
  }
  stripes.resize(used);
}

std::size_t least_stripe(std::span<const double> measured, std::span<const RailLoad> loads) {
  double fastest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (!loads[i].usable) continue;
    if (measured[i] <= 0) return kUnknownLeastStripe;
    fastest = std::max(fastest, measured[i]);
  }
  if (fastest == 0) return kUnknownLeastStripe;
  const double worth = std::min(fastest * kWorthAStripe, static_cast<double>(kMostLeastStripe));
  return std::max(static_cast<std::size_t>(worth), kLeastLeastStripe);
}

int least_loaded(std::span<const RailLoad> loads, std::span<const int> preference) {
  int best = -1;
  double best_finish = std::numeric_limits<double>::infinity();
  for (const int link : preference) {
    const RailLoad& load = loads[static_cast<std::size_t>(link)];
    if (!load.usable || finish(load) >= best_finish) continue;
    best = link;
    best_finish = finish(load);
  }
  return best;
}

void Goodput::Rate::add(double more_bytes, double more_seconds) {
  bytes += more_bytes;
  seconds += more_seconds;
  if (seconds < kSampleSeconds || bytes < kSampleBytes) return;
  const double sample = bytes / seconds;
  value = value == 0 ? sample : value + kNewSample * (sample - value);
  bytes = seconds = 0;
}

void Goodput::started(double now) {
  busy_ = true;
  any_through_ = false;
  since_ = now;
}

void Goodput::through(std::size_t bytes, double now) {
  if (!busy_) return;
  const auto amount = static_cast<double>(bytes);
  whole_.add(amount, now - since_);
  if (!any_through_) first_ = now;
  if (now - first_ > kSameMoment) steady_.add(amount, now - since_);
  any_through_ = true;
  since_ = now;
}

void settle_speeds(std::span<const double> measured, std::span<const double> nominal,
                   std::span<RailLoad> loads) {
  const auto all_known = [&](std::span<const double> speeds) {
    for (std::size_t i = 0; i < loads.size(); ++i)
      if (loads[i].usable && speeds[i] <= 0) return false;
    return true;
  };
  const bool by_measure = all_known(measured);
  const bool by_name = !by_measure && all_known(nominal);
  const std::span<const double> speeds = by_measure ? measured : nominal;
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (!loads[i].usable) continue;
    slowest = std::min(slowest, speeds[i]);
    fastest = std::max(fastest, speeds[i]);
  }
  const bool equal = !(by_measure || by_name) || fastest <= kEqualWithin * slowest;
  for (std::size_t i = 0; i < loads.size(); ++i)
    loads[i].speed = equal ? 1 : std::max(speeds[i], fastest * kLeastSpeed);
}

}  // namespace heddle::transport::fabric
