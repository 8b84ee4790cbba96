#include "tuner/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "collectives/rounds.hpp"
#include "tuner/machine_file.hpp"

namespace heddle::tuner {
namespace {

constexpr std::array kChannels = {1, 2, 4, 8};
// Shares of a slot that a message may have: smaller ones start a pipeline sooner.
constexpr std::array<std::size_t, 3> kSlotShares = {1, 4, 16};

bool has_network(const topology::Machine& machine) {
  return machine.adapters.count > 0 || machine.host_network.count > 0;
}

topology::AdapterModel network_between(const topology::Machine& machine, int hosts) {
  if (hosts <= 1 && !has_network(machine)) return {};
  return topology::network_of(machine, -1);
}

Pick by_table(const Request& request, const std::string& but) {
  const collectives::Selection selection = collectives::choose(request.selection);
  return {selection.algorithm, selection.channels, request.selection.slot_bytes,
          selection.why + but, selection.force_refused};
}

}  // namespace

Tuner::Tuner(std::optional<topology::Machine> machine) : machine_(std::move(machine)) {
  if (machine_) check_algorithms(*machine_);
}

const topology::Tuned* Tuner::measured(const Request& request) const {
  for (const topology::Tuned& tuned : machine_->software.tuned)
    if (base::collective_named(tuned.collective) == request.selection.collective &&
        tuned.hosts == request.hosts && tuned.ranks == request.selection.ranks &&
        request.selection.bytes <= tuned.up_to_bytes)
      return &tuned;
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
  const collectives::Forced forced = collectives::forced_algorithm(request.selection);
  const int forced_channels = request.selection.forced_channels;
  const std::span<const int> channels_tried =
      forced_channels > 0 ? std::span(&forced_channels, 1) : std::span(kChannels);
  std::vector<Priced> priced;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    if (forced.algorithm != nullptr && &algorithm != forced.algorithm) continue;
    if (!usable(algorithm, request.selection)) continue;
    const RoundPrice& round = round_of(algorithm, request);
    for (const int channels : channels_tried)
      for (const std::size_t share : kSlotShares) {
        const std::size_t message =
            std::max(request.selection.slot_bytes / share, collectives::least_message(round.parts));
        priced.push_back({&algorithm, channels, message,
                          price(round, {request.block_bytes, channels, message}, *machine_)});
      }
  }
  // Equal prices: the earlier algorithm, fewer channels, larger chunks.
  std::stable_sort(priced.begin(), priced.end(),
                   [](const Priced& a, const Priced& b) { return a.seconds < b.seconds; });
  return priced;
}

Pick Tuner::pick(const Request& request) {
  const collectives::SelectionRequest& asked = request.selection;
  if (!machine_ || asked.uneven) return by_table(request, "");
  const collectives::Forced forced = collectives::forced_algorithm(asked);
  const std::string first = forced.why.empty() ? "" : forced.why + "; ";
  std::string last = collectives::forced_channels_text(asked);
  // Where another algorithm than the forced one was best, nothing is known of the forced one.
  const topology::Tuned* tuned = measured(request);
  const auto* best = tuned == nullptr ? nullptr : collectives::algorithm_named(tuned->algorithm);
  if (best != nullptr && (forced.algorithm == nullptr || forced.algorithm == best)) {
    const std::size_t message = tuned->message_bytes == 0
                                    ? asked.slot_bytes
                                    : std::min(tuned->message_bytes, asked.slot_bytes);
    if (usable(*best, asked) && collectives::parts_fit(message, best->parts(asked.shape())))
      return {best, asked.forced_channels > 0 ? asked.forced_channels : tuned->channels, message,
              fmt::format("{}measured best on {}{}", first, machine_->name, last),
              forced.refused()};
    last += fmt::format(
        "; {} was measured best, but cannot run on these hosts or in messages of {} "
        "bytes",
        best->name, message);
  }
  if (request.hosts > 1 && !has_network(*machine_))
    return by_table(request, fmt::format("; {} has nothing between hosts", machine_->name));
  const std::vector<Priced> priced = prices(request);
  if (priced.empty()) return by_table(request, "");
  const Priced& cheapest = priced.front();
  return {cheapest.algorithm, cheapest.channels, cheapest.message_bytes,
          fmt::format("{}the model of {} says {:.1f} us{}", first, machine_->name,
                      cheapest.seconds * 1e6, last),
          forced.refused()};
}

}  // namespace heddle::tuner
