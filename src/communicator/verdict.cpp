#include "communicator/verdict.hpp"

#include <fmt/format.h>

namespace heddle::communicator {
namespace {

// A rank that was silent for so long when another is stuck is taken for the cause. Heartbeats come
// every half second.
constexpr double kSilenceSeconds = 2;

const RankState* find(const std::vector<RankState>& ranks, int rank) {
  for (const RankState& state : ranks)
    if (state.rank == rank) return &state;
  return nullptr;
}

}  // namespace

Failure blame_for(const Stuck& stuck, int reporter, const std::vector<RankState>& ranks) {
  const RankState* culprit = nullptr;
  std::string why;
  for (const RankState& other : ranks) {
    if (other.left || other.rank == reporter) continue;
    if (other.silent > kSilenceSeconds) {
      culprit = &other;
      why = fmt::format("it has not answered for {:.1f} s: stopped or unreachable", other.silent);
      break;
    }
    if (other.started < stuck.operation &&
        (culprit == nullptr || other.started < culprit->started)) {
      culprit = &other;
      why = fmt::format("it has not called operation #{}; its last was #{}", stuck.operation,
                        other.started);
    }
  }
  if (culprit == nullptr) {
    culprit = find(ranks, stuck.waits_for);
    why =
        culprit != nullptr && culprit->left ? "it has left the communicator" : "it was waited for";
  }
  const RankState* const seen_by = find(ranks, reporter);
  const auto reported_by = seen_by != nullptr ? seen_by->name : fmt::format("rank {}", reporter);
  if (culprit == nullptr)
    return {-1, heddleTimeout,
            fmt::format("an unknown rank holds up the others; seen by {}: {}", reported_by,
                        stuck.what)};
  return {culprit->rank, heddleTimeout,
          fmt::format("{} holds up the others ({}); seen by {}: {}", culprit->name, why,
                      reported_by, stuck.what)};
}

std::optional<Failure> find_vanished(const std::vector<RankState>& ranks) {
  const RankState* gone = nullptr;
  bool anybody = false;  // waits
  for (const RankState& state : ranks) {
    if (!state.left && state.silent > kVanishedSeconds && state.host_silent > kVanishedSeconds)
      gone = &state;
    else if (state.left || state.stands_still)
      anybody = true;
    else
      return std::nullopt;
  }
  if (gone == nullptr || !anybody) return std::nullopt;
  return Failure{gone->rank, heddleRemoteError, fmt::format("{} {}", gone->name, kVanished)};
}

}  // namespace heddle::communicator
