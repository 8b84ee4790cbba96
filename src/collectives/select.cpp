#include "collectives/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "collectives/names.hpp"
#include "collectives/rounds.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kAllGather = base::Collective::all_gather;
constexpr auto kReduceScatter = base::Collective::reduce_scatter;
constexpr auto kBroadcast = base::Collective::broadcast;
constexpr auto kReduce = base::Collective::reduce;
constexpr auto kGather = base::Collective::gather;
constexpr auto kScatter = base::Collective::scatter;
constexpr auto kAllToAll = base::Collective::all_to_all;
constexpr int kMany = std::numeric_limits<int>::max();
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// The first row that fits and whose algorithm can do the call. Up to eight ranks all-reduce,
// all-gather and reduce-scatter are measured, on two cores over shared memory and over tcp's
// loopback (docs/performance.md), and two to four hosts over four rails that are emulated; the
// other rows follow the prices in the algorithms' files. The last row of a collective fits every
// call.
constexpr std::array kTable{
    SelectionRow{kAllReduce, Place::one_host, 1, 2, 64 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Place::one_host, 3, 4, 4 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Place::one_host, 3, 8, 16 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Place::one_host, 3, 8, 128 * kKiB, "two-shot", 1},
    SelectionRow{kAllReduce, Place::one_host, 9, kMany, 16 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Place::one_host, 9, kMany, 256 * kKiB, "halving-doubling", 1},
    SelectionRow{kAllReduce, Place::one_host, 1, kMany, kAny, "ring", 1},
    SelectionRow{kAllGather, Place::one_host, 3, 8, 256 * kKiB, "one-shot", 1},
    SelectionRow{kAllGather, Place::one_host, 9, kMany, 256 * kKiB, "pat", 1},
    SelectionRow{kAllGather, Place::one_host, 1, kMany, kAny, "ring", 1},
    SelectionRow{kReduceScatter, Place::one_host, 1, 8, 64 * kKiB, "one-shot", 1},
    SelectionRow{kReduceScatter, Place::one_host, 9, kMany, 256 * kKiB, "pat", 1},
    SelectionRow{kReduceScatter, Place::one_host, 1, kMany, kAny, "ring", 1},
    SelectionRow{kBroadcast, Place::one_host, 1, 8, 8 * kKiB, "star", 1},
    SelectionRow{kBroadcast, Place::one_host, 1, kMany, 256 * kKiB, "binomial", 1},
    SelectionRow{kBroadcast, Place::one_host, 1, kMany, kAny, "chain", 1},
    SelectionRow{kReduce, Place::one_host, 1, 8, 64 * kKiB, "star", 1},
    SelectionRow{kReduce, Place::one_host, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kReduce, Place::one_host, 1, kMany, kAny, "chain", 1},
    SelectionRow{kGather, Place::one_host, 33, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kGather, Place::one_host, 1, kMany, kAny, "star", 1},
    SelectionRow{kScatter, Place::one_host, 33, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kScatter, Place::one_host, 1, kMany, kAny, "star", 1},
    SelectionRow{kAllToAll, Place::one_host, 4, kMany, 16 * kKiB, "bruck", 1},
    SelectionRow{kAllToAll, Place::one_host, 1, kMany, kAny, "pairwise", 1},

    SelectionRow{kAllReduce, Place::even_hosts, 4, kMany, 4 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Place::even_hosts, 4, 8, 32 * kKiB,
                 "hierarchical:one-shot+recursive-doubling", 1},
    SelectionRow{kAllReduce, Place::even_hosts, 4, 8, 64 * kKiB, "hierarchical", 1},
    SelectionRow{kAllReduce, Place::even_hosts, 4, 8, 256 * kKiB, "hierarchical", 2},
    SelectionRow{kAllReduce, Place::even_hosts, 9, kMany, 128 * kKiB,
                 "hierarchical:one-shot+recursive-doubling", 1},
    SelectionRow{kAllReduce, Place::even_hosts, 4, kMany, kAny, "hierarchical", 2, true},
    SelectionRow{kAllGather, Place::even_hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kAllGather, Place::even_hosts, 9, kMany, kAny, "hierarchical", 2},
    SelectionRow{kReduceScatter, Place::even_hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kReduceScatter, Place::even_hosts, 9, kMany, kAny, "hierarchical", 2},

    SelectionRow{kAllReduce, Place::several_rails, 1, 2, 32 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Place::several_rails, 1, 2, 64 * kKiB, "ring", 2},
    SelectionRow{kAllReduce, Place::several_rails, 1, 2, kAny, "ring", 2, true},
    SelectionRow{kAllReduce, Place::several_rails, 3, 4, 32 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Place::several_rails, 3, 4, 1 * kMiB, "ring", 1},
    SelectionRow{kAllReduce, Place::several_rails, 3, 4, kAny, "ring", 2, true},

    SelectionRow{kAllReduce, Place::several_hosts, 1, 2, 256 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 1, 2, kAny, "ring", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 3, 4, 64 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 3, 4, 256 * kKiB, "star", 2},
    SelectionRow{kAllReduce, Place::several_hosts, 3, 4, 8 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 5, 8, 16 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 5, 8, 512 * kKiB, "two-shot", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 9, kMany, 16 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 9, kMany, 256 * kKiB, "halving-doubling", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 9, 32, 1 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Place::several_hosts, 1, kMany, kAny, "ring", 1, true},
    SelectionRow{kAllGather, Place::several_hosts, 3, 8, 16 * kKiB, "one-shot", 1},
    SelectionRow{kAllGather, Place::several_hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kAllGather, Place::several_hosts, 1, kMany, kAny, "ring", 1},
    SelectionRow{kReduceScatter, Place::several_hosts, 3, 8, 4 * kMiB, "one-shot", 1},
    SelectionRow{kReduceScatter, Place::several_hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kReduceScatter, Place::several_hosts, 1, kMany, kAny, "ring", 1},
    SelectionRow{kBroadcast, Place::several_hosts, 1, 8, 16 * kKiB, "star", 1},
    SelectionRow{kBroadcast, Place::several_hosts, 1, kMany, 512 * kKiB, "binomial", 1},
    SelectionRow{kBroadcast, Place::several_hosts, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kBroadcast, Place::several_hosts, 1, kMany, kAny, "chain", 1},
    SelectionRow{kReduce, Place::several_hosts, 1, 8, 16 * kKiB, "star", 1},
    SelectionRow{kReduce, Place::several_hosts, 1, kMany, 512 * kKiB, "binomial", 1},
    SelectionRow{kReduce, Place::several_hosts, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kReduce, Place::several_hosts, 1, kMany, kAny, "chain", 1},
    SelectionRow{kGather, Place::several_hosts, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kGather, Place::several_hosts, 1, kMany, kAny, "star", 1},
    SelectionRow{kScatter, Place::several_hosts, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kScatter, Place::several_hosts, 1, kMany, kAny, "star", 1},
    SelectionRow{kAllToAll, Place::several_hosts, 4, kMany, 64 * kKiB, "bruck", 1},
    SelectionRow{kAllToAll, Place::several_hosts, 1, kMany, kAny, "pairwise", 1},
};

bool reaches(const SelectionRow& row, const SelectionRequest& request) {
  const bool several = request.reach == Reach::fabric;
  switch (row.place) {
    case Place::one_host: return !several;
    case Place::several_hosts: return several;
    case Place::even_hosts:
      return several && request.ranks_per_host >= 2 && request.ranks > request.ranks_per_host;
    case Place::several_rails: return several && request.rails >= 2;
  }
  return false;
}

std::string size_text(std::size_t bytes) {
  return bytes == kAny ? "any size" : "up to " + base::bytes_text(bytes);
}

std::string row_text(const SelectionRow& row) {
  const std::string ranks = row.max_ranks == kMany
                                ? fmt::format("{} or more", row.min_ranks)
                                : fmt::format("{} to {}", row.min_ranks, row.max_ranks);
  return fmt::format("{}, {}, {} ranks, {}: {} on {}", base::name_of(row.collective),
                     name_of(row.place), ranks, size_text(row.up_to_bytes), row.algorithm,
                     base::counted(static_cast<std::size_t>(row.channels), "channel") +
                         (row.channel_per_rail ? " or one a rail" : ""));
}

bool can_call(const Algorithm& algorithm, const SelectionRequest& request) {
  return can_do(algorithm, request.shape()) && (algorithm.uneven || !request.uneven);
}

const SelectionRow& fitting_row(const SelectionRequest& request) {
  for (const SelectionRow& row : kTable) {
    if (row.collective != request.collective || !reaches(row, request)) continue;
    if (request.ranks < row.min_ranks || request.ranks > row.max_ranks) continue;
    if (request.bytes > row.up_to_bytes) continue;
    const Algorithm& algorithm = *algorithm_named(row.algorithm);
    if (usable(algorithm, request)) return row;
  }
  base::fail(heddleInternalError, "no row of the selection table fits {} of {} bytes by {} ranks",
             base::name_of(request.collective), request.bytes, request.ranks);
}

}  // namespace

std::string_view name_of(Place place) {
  switch (place) {
    case Place::one_host: return "one host";
    case Place::several_hosts: return "several hosts";
    case Place::even_hosts: return "even hosts";
    case Place::several_rails: return "several rails";
  }
  return "";
}

bool usable(const Algorithm& algorithm, const SelectionRequest& request) {
  return can_call(algorithm, request) &&
         (request.slot_bytes == 0 ||
          parts_fit(request.slot_bytes, algorithm.parts(request.shape())));
}

std::span<const SelectionRow> selection_table() { return kTable; }

std::string selection_text() {
  std::string text;
  for (const SelectionRow& row : kTable) text += row_text(row) + "\n";
  return text;
}

Forced forced_algorithm(const SelectionRequest& request) {
  if (request.forced_algorithm.empty() || request.forced_algorithm == "auto") return {};
  const Algorithm& forced = required_algorithm(request.forced_algorithm, "algorithm", "auto, ");
  if (can_call(forced, request)) return {&forced, fmt::format("{} was asked for", forced.name)};
  return {nullptr, fmt::format("{} was asked for but has no {}{}", forced.name,
                               base::name_of(request.collective),
                               forced.supports(request.collective) ? " of this shape" : "")};
}

std::string forced_channels_text(const SelectionRequest& request) {
  if (request.forced_channels < 0)
    base::fail(heddleInvalidArgument, "channels: {} is not allowed; 0 (by size) or more are",
               request.forced_channels);
  if (request.forced_channels == 0) return "";
  return fmt::format("; channels {} as asked for", request.forced_channels);
}

Selection choose(const SelectionRequest& request) {
  const std::string channels_text = forced_channels_text(request);
  const Forced forced = forced_algorithm(request);
  const SelectionRow& row = fitting_row(request);
  const int per_rail = row.channel_per_rail ? std::min(request.rails, kMostRailChannels) : 0;
  Selection selection{algorithm_named(row.algorithm), std::max(row.channels, per_rail),
                      row_text(row), forced.refused()};
  if (forced.algorithm != nullptr) {
    selection.algorithm = forced.algorithm;
    selection.why = forced.why;
  } else if (forced.refused()) {
    selection.why = fmt::format("{}; the table says: {}", forced.why, selection.why);
  }
  if (request.forced_channels > 0) selection.channels = request.forced_channels;
  selection.why += channels_text;
  return selection;
}

}  // namespace heddle::collectives
