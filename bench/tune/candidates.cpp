#include "tune/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collectives/rounds.hpp"

namespace heddle::bench::tune {
namespace {

constexpr std::array kChannels = {1, 2, 4};
constexpr std::array<std::size_t, 2> kShares = {4, 16};  // of a slot

bool usable(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
            std::size_t message_bytes) {
  return collectives::can_do(algorithm, shape) &&
         collectives::parts_fit(message_bytes, algorithm.parts(shape));
}

bool same(const collectives::Move& a, const collectives::Move& b) {
  return a.piece == b.piece && a.sources == b.sources && a.destinations == b.destinations &&
         a.completes == b.completes;
}

// Whether the two run the same moves on every rank.
bool same(const collectives::Algorithm& a, const collectives::Algorithm& b,
          const collectives::Shape& shape) {
  if (a.pieces(shape) != b.pieces(shape) || a.parts(shape) != b.parts(shape)) return false;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const collectives::Lane of_a = a.lane(shape, rank, 0), of_b = b.lane(shape, rank, 0);
    if (!std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [](const auto& x, const auto& y) { return same(x, y); }))
      return false;
  }
  return true;
}

// The first algorithm that is the same.
const collectives::Algorithm& first_like(const collectives::Algorithm& algorithm,
                                         const collectives::Shape& shape) {
  for (const collectives::Algorithm& other : collectives::algorithms()) {
    if (&other == &algorithm) break;
    if (collectives::can_do(other, shape) && same(other, algorithm, shape)) return other;
  }
  return algorithm;
}

}  // namespace

std::string Candidate::text() const {
  const std::string chunks =
      message_bytes == 0 ? ""
                         : fmt::format(" in {} KiB", static_cast<double>(message_bytes) / 1024);
  return fmt::format("{} x{}{}", algorithm, channels, chunks);
}

std::vector<Candidate> candidates_of(const World& world, base::Collective collective,
                                     std::size_t slot_bytes) {
  std::vector<Candidate> candidates;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    const collectives::Shape shape{collective, world.ranks, 1, 0, world.ranks_per_host};
    if (!usable(algorithm, shape, slot_bytes) || &first_like(algorithm, shape) != &algorithm)
      continue;
    for (const int channels : kChannels)
      candidates.push_back({std::string(algorithm.name), channels, 0});
  }
  return candidates;
}

std::vector<Candidate> in_smaller_chunks(const Candidate& candidate, const World& world,
                                         const Cell& cell, std::size_t slot_bytes) {
  const collectives::Algorithm& algorithm = *collectives::algorithm_named(candidate.algorithm);
  const collectives::Shape shape{cell.collective, world.ranks, candidate.channels, 0,
                                 world.ranks_per_host};
  const std::size_t block = count_of(cell, world.ranks) * sizeof(float);
  const std::size_t piece = block / static_cast<std::size_t>(algorithm.pieces(shape));
  std::vector<Candidate> smaller;
  for (const std::size_t share : kShares) {
    const std::size_t chunk = slot_bytes / share;
    const bool cuts = piece * static_cast<std::size_t>(algorithm.parts(shape)) > chunk;
    if (cuts && usable(algorithm, shape, chunk))
      smaller.push_back({candidate.algorithm, candidate.channels, chunk});
  }
  return smaller;
}

Candidate candidate_of(const tuner::Pick& pick, const World& world, base::Collective collective,
                       std::size_t slot_bytes) {
  const collectives::Shape shape{collective, world.ranks, 1, 0, world.ranks_per_host};
  return {std::string(first_like(*pick.algorithm, shape).name), pick.channels,
          pick.message_bytes == slot_bytes ? 0 : pick.message_bytes};
}

topology::Machine forcing(const Candidate& candidate, const World& world) {
  topology::Machine machine;
  machine.name = "heddle-tune's candidate";
  machine.rank.copy_bandwidth = machine.rank.reduce_bandwidth = machine.inner.bandwidth = 1;
  for (int i = 0; i < base::kCollectives; ++i) {
    topology::Tuned& tuned = machine.software.tuned.emplace_back();
    tuned.collective = base::name_of(static_cast<base::Collective>(i));
    tuned.hosts = world.hosts;
    tuned.ranks = world.ranks;
    tuned.algorithm = candidate.algorithm;
    tuned.channels = candidate.channels;
    tuned.message_bytes = candidate.message_bytes;
  }
  return machine;
}

}  // namespace heddle::bench::tune
