#include "tuner/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "collectives/rounds.hpp"

namespace heddle::tuner {
namespace {

constexpr std::array kChannels = {1, 2, 4, 8};
// Shares of a slot that a chunk may have: smaller ones start a pipeline sooner.
constexpr std::array<std::size_t, 3> kChunkShares = {1, 4, 16};

bool has_network(const topology::Machine& machine) {
  return machine.adapters.count > 0 || machine.host_network.count > 0;
}

topology::AdapterModel network_between(const topology::Machine& machine, int hosts) {
  if (hosts <= 1 && !has_network(machine)) return {};
  return topology::network_of(machine, -1);
}

bool usable(const collectives::Algorithm& algorithm, const Request& request) {
  const collectives::Shape shape = request.selection.shape();
  if (!collectives::can_do(algorithm, shape)) return false;
  if (request.selection.uneven && !algorithm.uneven) return false;
  const auto parts = static_cast<std::size_t>(algorithm.parts(shape));
  return request.slot_bytes / parts >= collectives::kPieceAlign;
}

}  // namespace

Tuner::Tuner(std::optional<topology::Machine> machine) : machine_(std::move(machine)) {}

const topology::Tuned* Tuner::measured(const Request& request) const {
  for (const topology::Tuned& tuned : machine_->software.tuned) {
    if (base::collective_named(tuned.collective) != request.selection.collective ||
        tuned.hosts != request.hosts || tuned.ranks != request.selection.ranks ||
        request.selection.bytes > tuned.up_to_bytes)
      continue;
    const auto* algorithm = collectives::algorithm_named(tuned.algorithm);
    return algorithm != nullptr && usable(*algorithm, request) ? &tuned : nullptr;
  }
  return nullptr;
}

const RoundPrice& Tuner::round_of(const collectives::Algorithm& algorithm, const Request& request) {
  const collectives::Shape shape = request.selection.shape();
  const Key key{&algorithm, shape.collective, shape.ranks, shape.ranks_per_host, shape.root};
  const auto found = rounds_.find(key);
  if (found != rounds_.end()) return found->second;
  topology::Machine machine = *machine_;
  machine.hosts = request.hosts;
  return rounds_
      .emplace(key, price_round(algorithm, shape, machine, network_between(machine, request.hosts)))
      .first->second;
}

std::vector<Priced> Tuner::prices(const Request& request) {
  HEDDLE_ASSERT(machine_, "no machine, {} ranks", request.selection.ranks);
  std::vector<Priced> priced;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    if (!usable(algorithm, request)) continue;
    const RoundPrice& round = round_of(algorithm, request);
    for (const int channels : kChannels)
      for (const std::size_t share : kChunkShares) {
        const std::size_t chunk =
            std::max(request.slot_bytes / share,
                     static_cast<std::size_t>(round.parts) * collectives::kPieceAlign);
        priced.push_back({&algorithm, channels, chunk,
                          price(round, {request.block_bytes, channels, chunk}, *machine_)});
      }
  }
  // Equal prices: the earlier algorithm, fewer channels, larger chunks.
  std::stable_sort(priced.begin(), priced.end(),
                   [](const Priced& a, const Priced& b) { return a.seconds < b.seconds; });
  return priced;
}

Pick Tuner::pick(const Request& request) {
  const collectives::SelectionRequest& asked = request.selection;
  const bool forced = (!asked.forced_algorithm.empty() && asked.forced_algorithm != "auto") ||
                      asked.forced_channels > 0;
  if (!machine_ || forced || asked.uneven) {
    const auto selection = collectives::choose(asked);
    return {selection.algorithm, selection.channels, request.slot_bytes, selection.why,
            selection.force_refused};
  }
  if (const topology::Tuned* tuned = measured(request)) {
    const std::size_t chunk = tuned->chunk_bytes == 0
                                  ? request.slot_bytes
                                  : std::min(tuned->chunk_bytes, request.slot_bytes);
    return {collectives::algorithm_named(tuned->algorithm), tuned->channels, chunk,
            fmt::format("measured best on {}", machine_->name)};
  }
  const bool no_network = request.hosts > 1 && !has_network(*machine_);
  const std::vector<Priced> priced = no_network ? std::vector<Priced>{} : prices(request);
  if (priced.empty()) {
    const auto selection = collectives::choose(asked);
    const std::string but =
        no_network ? fmt::format("; {} has nothing between hosts", machine_->name) : "";
    return {selection.algorithm, selection.channels, request.slot_bytes, selection.why + but};
  }
  const Priced& best = priced.front();
  return {best.algorithm, best.channels, best.chunk_bytes,
          fmt::format("the model of {} says {:.1f} us", machine_->name, best.seconds * 1e6)};
}

}  // namespace heddle::tuner
