#include "transport/fabric/striping.hpp"

#include <algorithm>
#include <limits>

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

// The time at which links that are done before it could have taken `bytes` more.
double level(std::size_t bytes, std::span<const RailLoad> loads, const std::vector<int>& order) {
  double taken = 0, speed = 0, time = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const RailLoad& load = loads[static_cast<std::size_t>(order[i])];
    const double reach = finish(load);
    if (i > 0 && taken + (reach - time) * speed >= static_cast<double>(bytes)) break;
    if (i > 0) taken += (reach - time) * speed;
    time = reach;
    speed += load.speed;
  }
  return time + (static_cast<double>(bytes) - taken) / speed;
}

}  // namespace

void share_out(std::size_t bytes, std::span<const RailLoad> loads, std::size_t least,
               std::size_t most, std::vector<Stripe>& stripes) {
  stripes.clear();
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(loads.size()); ++i)
    if (loads[static_cast<std::size_t>(i)].usable) order.push_back(i);
  if (order.empty()) return;
  std::ranges::stable_sort(order, [&](int a, int b) {
    return finish(loads[static_cast<std::size_t>(a)]) < finish(loads[static_cast<std::size_t>(b)]);
  });
  const std::size_t count = std::clamp<std::size_t>(bytes / least, 1, most);
  if (order.size() > count) order.resize(count);
  // Links whose share is too small leave, the one with the smallest first.
  while (order.size() > 1) {
    const double end = level(bytes, loads, order);
    const auto share = [&](int link) {
      const RailLoad& load = loads[static_cast<std::size_t>(link)];
      return (end - finish(load)) * load.speed;
    };
    const auto smallest = std::ranges::min_element(order, {}, share);
    if (share(*smallest) >= static_cast<double>(least)) break;
    order.erase(smallest);
  }
  const double end = level(bytes, loads, order);
  std::ranges::sort(order);
  std::size_t left = bytes;
  for (std::size_t i = 0; i < order.size() && left > 0; ++i) {
    const RailLoad& load = loads[static_cast<std::size_t>(order[i])];
    auto part = static_cast<std::size_t>((end - finish(load)) * load.speed);
    part = std::max((part + kAlignment / 2) / kAlignment * kAlignment, kAlignment);
    if (i + 1 == order.size() || part > left) part = left;
    stripes.push_back({order[i], part});
    left -= part;
  }
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
