#include "collectives/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
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
// loopback (docs/performance.md), and two hosts over four rails that are emulated; the other rows
// follow the prices in the algorithms' files. The last row of a collective fits every call.
constexpr std::array kTable{
    SelectionRow{kAllReduce, Reach::local, 1, 2, 64 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Reach::local, 3, 8, 16 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Reach::local, 3, 8, 128 * kKiB, "two-shot", 1},
    SelectionRow{kAllReduce, Reach::local, 3, 8, kAny, "two-shot", 2},
    SelectionRow{kAllReduce, Reach::local, 9, kMany, 16 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Reach::local, 9, kMany, 256 * kKiB, "halving-doubling", 1},
    SelectionRow{kAllReduce, Reach::local, 1, kMany, kAny, "ring", 1},
    SelectionRow{kAllGather, Reach::local, 3, 8, 256 * kKiB, "one-shot", 1},
    SelectionRow{kAllGather, Reach::local, 9, kMany, 256 * kKiB, "pat", 1},
    SelectionRow{kAllGather, Reach::local, 1, kMany, kAny, "ring", 1},
    SelectionRow{kReduceScatter, Reach::local, 1, 8, 64 * kKiB, "one-shot", 1},
    SelectionRow{kReduceScatter, Reach::local, 9, kMany, 256 * kKiB, "pat", 1},
    SelectionRow{kReduceScatter, Reach::local, 1, kMany, kAny, "ring", 1},
    SelectionRow{kBroadcast, Reach::local, 1, 8, 8 * kKiB, "star", 1},
    SelectionRow{kBroadcast, Reach::local, 1, kMany, 256 * kKiB, "binomial", 1},
    SelectionRow{kBroadcast, Reach::local, 1, kMany, kAny, "chain", 1},
    SelectionRow{kReduce, Reach::local, 1, 8, 64 * kKiB, "star", 1},
    SelectionRow{kReduce, Reach::local, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kReduce, Reach::local, 1, kMany, kAny, "chain", 1},
    SelectionRow{kGather, Reach::local, 33, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kGather, Reach::local, 1, kMany, kAny, "star", 1},
    SelectionRow{kScatter, Reach::local, 33, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kScatter, Reach::local, 1, kMany, kAny, "star", 1},
    SelectionRow{kAllToAll, Reach::local, 4, kMany, 16 * kKiB, "bruck", 1},
    SelectionRow{kAllToAll, Reach::local, 1, kMany, kAny, "pairwise", 1},

    SelectionRow{kAllReduce, Reach::hosts, 9, kMany, 16 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Reach::hosts, 9, kMany, 128 * kKiB,
                 "hierarchical:one-shot+recursive-doubling", 1},
    SelectionRow{kAllReduce, Reach::hosts, 4, kMany, kAny, "hierarchical", 2},
    SelectionRow{kAllGather, Reach::hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kAllGather, Reach::hosts, 9, kMany, kAny, "hierarchical", 2},
    SelectionRow{kReduceScatter, Reach::hosts, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kReduceScatter, Reach::hosts, 9, kMany, kAny, "hierarchical", 2},

    SelectionRow{kAllReduce, Reach::rails, 1, 2, 32 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Reach::rails, 1, 2, kAny, "ring", 2},

    SelectionRow{kAllReduce, Reach::fabric, 1, 2, 256 * kKiB, "one-shot", 1},
    SelectionRow{kAllReduce, Reach::fabric, 1, 2, 512 * kKiB, "ring", 1},
    SelectionRow{kAllReduce, Reach::fabric, 1, 2, 8 * kMiB, "ring", 2},
    SelectionRow{kAllReduce, Reach::fabric, 3, 4, 64 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Reach::fabric, 3, 4, 256 * kKiB, "star", 2},
    SelectionRow{kAllReduce, Reach::fabric, 3, 4, 8 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Reach::fabric, 5, 8, 16 * kKiB, "star", 1},
    SelectionRow{kAllReduce, Reach::fabric, 5, 8, 512 * kKiB, "two-shot", 1},
    SelectionRow{kAllReduce, Reach::fabric, 9, kMany, 16 * kKiB, "recursive-doubling", 1},
    SelectionRow{kAllReduce, Reach::fabric, 9, kMany, 256 * kKiB, "halving-doubling", 1},
    SelectionRow{kAllReduce, Reach::fabric, 9, 32, 1 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Reach::fabric, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kAllReduce, Reach::fabric, 1, kMany, kAny, "ring", 1},
    SelectionRow{kAllGather, Reach::fabric, 3, 8, 16 * kKiB, "one-shot", 1},
    SelectionRow{kAllGather, Reach::fabric, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kAllGather, Reach::fabric, 1, kMany, kAny, "ring", 1},
    SelectionRow{kReduceScatter, Reach::fabric, 3, 8, 4 * kMiB, "one-shot", 1},
    SelectionRow{kReduceScatter, Reach::fabric, 9, kMany, 1 * kMiB, "pat", 1},
    SelectionRow{kReduceScatter, Reach::fabric, 1, kMany, kAny, "ring", 1},
    SelectionRow{kBroadcast, Reach::fabric, 1, 8, 16 * kKiB, "star", 1},
    SelectionRow{kBroadcast, Reach::fabric, 1, kMany, 512 * kKiB, "binomial", 1},
    SelectionRow{kBroadcast, Reach::fabric, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kBroadcast, Reach::fabric, 1, kMany, kAny, "chain", 1},
    SelectionRow{kReduce, Reach::fabric, 1, 8, 16 * kKiB, "star", 1},
    SelectionRow{kReduce, Reach::fabric, 1, kMany, 512 * kKiB, "binomial", 1},
    SelectionRow{kReduce, Reach::fabric, 33, kMany, 8 * kMiB, "tree", 1},
    SelectionRow{kReduce, Reach::fabric, 1, kMany, kAny, "chain", 1},
    SelectionRow{kGather, Reach::fabric, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kGather, Reach::fabric, 1, kMany, kAny, "star", 1},
    SelectionRow{kScatter, Reach::fabric, 9, kMany, 64 * kKiB, "binomial", 1},
    SelectionRow{kScatter, Reach::fabric, 1, kMany, kAny, "star", 1},
    SelectionRow{kAllToAll, Reach::fabric, 4, kMany, 64 * kKiB, "bruck", 1},
    SelectionRow{kAllToAll, Reach::fabric, 1, kMany, kAny, "pairwise", 1},
};

std::string_view name_of(Reach reach) {
  switch (reach) {
    case Reach::local: return "local";
    case Reach::fabric: return "fabric";
    case Reach::hosts: return "hosts alike";
    case Reach::rails: break;
  }
  return "several rails";
}

bool reaches(const SelectionRow& row, const SelectionRequest& request) {
  if (row.reach == Reach::rails) return request.reach == Reach::fabric && request.rails >= 2;
  if (row.reach != Reach::hosts) return row.reach == request.reach;
  return request.reach == Reach::fabric && request.ranks_per_host >= 2 &&
         request.ranks > request.ranks_per_host;
}

std::string bytes_text(std::size_t bytes) {
  if (bytes == kAny) return "any size";
  if (bytes % kMiB == 0) return fmt::format("up to {} MiB", bytes / kMiB);
  if (bytes % kKiB == 0) return fmt::format("up to {} KiB", bytes / kKiB);
  return fmt::format("up to {} B", bytes);
}

std::string row_text(const SelectionRow& row) {
  const std::string ranks = row.max_ranks == kMany
                                ? fmt::format("{} or more", row.min_ranks)
                                : fmt::format("{} to {}", row.min_ranks, row.max_ranks);
  return fmt::format("{}, {}, {} ranks, {}: {} on {}", base::name_of(row.collective),
                     name_of(row.reach), ranks, bytes_text(row.up_to_bytes), row.algorithm,
                     base::counted(static_cast<std::size_t>(row.channels), "channel"));
}

bool usable(const Algorithm& algorithm, const SelectionRequest& request) {
  return can_do(algorithm, request.shape()) && (algorithm.uneven || !request.uneven);
}

// Whether the most chunks of a message have a slot to share.
bool fits_slots(const Algorithm& algorithm, const SelectionRequest& request) {
  const auto parts = static_cast<std::size_t>(algorithm.parts(request.shape()));
  return request.slot_bytes == 0 || request.slot_bytes / parts >= kPieceAlign;
}

const SelectionRow& fitting_row(const SelectionRequest& request) {
  for (const SelectionRow& row : kTable) {
    if (row.collective != request.collective || !reaches(row, request)) continue;
    if (request.ranks < row.min_ranks || request.ranks > row.max_ranks) continue;
    if (request.bytes > row.up_to_bytes) continue;
    const Algorithm& algorithm = *algorithm_named(row.algorithm);
    if (usable(algorithm, request) && fits_slots(algorithm, request)) return row;
  }
  base::fail(heddleInternalError, "no row of the selection table fits {} of {} bytes by {} ranks",
             base::name_of(request.collective), request.bytes, request.ranks);
}

}  // namespace

std::string known_algorithms() {
  std::string names;
  for (const Algorithm& algorithm : algorithms())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
  return names;
}

std::span<const SelectionRow> selection_table() { return kTable; }

std::string selection_text() {
  std::string text;
  for (const SelectionRow& row : kTable) text += row_text(row) + "\n";
  return text;
}

Selection choose(const SelectionRequest& request) {
  if (request.forced_channels < 0)
    base::fail(heddleInvalidArgument, "channels: {} is not allowed; 0 (by size) or more are",
               request.forced_channels);
  const SelectionRow& row = fitting_row(request);
  Selection selection{algorithm_named(row.algorithm), row.channels, row_text(row)};
  if (request.reach == Reach::fabric && request.bytes >= kLeastRailBytes) {
    const int channels = std::min(request.rails, kMostRailChannels);
    if (channels > selection.channels)
      selection.why += fmt::format("; {} channels for {} rails", channels, request.rails);
    selection.channels = std::max(selection.channels, channels);
  }
  if (!request.forced_algorithm.empty() && request.forced_algorithm != "auto") {
    const Algorithm* forced = algorithm_named(request.forced_algorithm);
    if (forced == nullptr)
      base::fail(heddleInvalidArgument, "algorithm: \"{}\" is not known; allowed are auto, {}",
                 request.forced_algorithm, known_algorithms());
    if (usable(*forced, request)) {
      selection.algorithm = forced;
      selection.why = fmt::format("{} was asked for", forced->name);
    } else {
      selection.force_refused = true;
      selection.why =
          fmt::format("{} was asked for but has no {}{}; the table says: {}", forced->name,
                      base::name_of(request.collective),
                      forced->supports(request.collective) ? " of this shape" : "", selection.why);
    }
  }
  if (request.forced_channels > 0) {
    selection.channels = request.forced_channels;
    selection.why += fmt::format("; channels {} as asked for", request.forced_channels);
  }
  return selection;
}

}  // namespace heddle::collectives
