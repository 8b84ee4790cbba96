#include "collectives/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/proof.hpp"
#include "collectives/text.hpp"

namespace heddle::collectives {

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::malformed: return "malformed";
    case FaultKind::wrong_piece: return "wrong piece";
    case FaultKind::wrong_message: return "wrong message";
    case FaultKind::leftover_message: return "leftover message";
    case FaultKind::deadlock: return "deadlock";
    case FaultKind::missing_contribution: return "missing contribution";
    case FaultKind::doubled_contribution: return "doubled contribution";
    case FaultKind::wrong_value: return "wrong value";
    case FaultKind::overwritten_input: return "overwritten input";
    case FaultKind::unwritten_output: return "unwritten output";
    case FaultKind::wrong_completes: return "wrong completes";
    case FaultKind::different_bits: return "different bits";
  }
  return "unknown";
}

namespace proof {
namespace {

// What is wrong with an end by itself; empty when nothing is.
std::string wrong_end(const Shape& shape, int rank, const End& end) {
  const int inputs = input_blocks(shape, rank);
  const int outputs = output_blocks(shape, rank);
  const bool is_peer = end.where == End::Where::peer;
  const int limit = is_peer ? shape.ranks : end.where == End::Where::input ? inputs : outputs;
  if (limit == 0) return fmt::format("{}: this rank has none", to_text(end));
  if (end.more && !is_peer) return fmt::format("{} is no message that could go on", to_text(end));
  if (end.index < 0 || end.index >= limit)
    return fmt::format("{} is outside 0..{}", to_text(end), limit - 1);
  if (is_peer && end.index == rank) return fmt::format("{} is the rank itself", to_text(end));
  return {};
}

// A pipe is peeked or filled once by a move, so no peer may be named twice on one side; a chunk
// twice as a source is a matter of values.
std::string repeated(const std::vector<End>& ends, bool only_peers) {
  std::vector<std::pair<int, int>> seen;
  for (const End& end : ends)
    if (!only_peers || end.where == End::Where::peer)
      seen.emplace_back(static_cast<int>(end.where), end.index);
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return {};
  return fmt::format("names {} twice",
                     to_text(End{static_cast<End::Where>(twice->first), twice->second}));
}

std::string wrong_move(const Schedule& schedule, int rank, int channel, const Move& move) {
  const Shape& shape = schedule.shape;
  const int pieces = schedule.pieces / shape.channels;
  const int first = channel * pieces;
  if (move.piece < first || move.piece >= first + pieces)
    return fmt::format("the pieces of the channel are {}..{}", first, first + pieces - 1);
  if (move.sources.empty()) return "has no source";
  if (move.destinations.empty()) return "has no destination";
  if (move.sources.size() > 1 && !base::reduces(shape.collective))
    return fmt::format("{} does not reduce", base::name_of(shape.collective));
  for (const auto* ends : {&move.sources, &move.destinations})
    for (const End& end : *ends)
      if (std::string wrong = wrong_end(shape, rank, end); !wrong.empty()) return wrong;
  for (const End& end : move.destinations)
    if (end.where == End::Where::input) return fmt::format("writes {}", to_text(end));
  if (std::string wrong = repeated(move.sources, true); !wrong.empty()) return wrong;
  return repeated(move.destinations, false);
}

// Whether a channel's lanes are those of channel 0 with its own pieces. What proves one then proves
// the other.
bool repeats_first_channel(const Schedule& schedule, int channel) {
  const int shift = channel * (schedule.pieces / schedule.shape.channels);
  const auto same = [shift](const Move& first, const Move& move) {
    return first.piece + shift == move.piece && first.completes == move.completes &&
           first.sources == move.sources && first.destinations == move.destinations;
  };
  return std::all_of(schedule.lanes.begin(), schedule.lanes.end(), [&](const auto& lanes) {
    const Lane& first = lanes.front();
    const Lane& lane = lanes[static_cast<std::size_t>(channel)];
    return std::equal(first.begin(), first.end(), lane.begin(), lane.end(), same);
  });
}

Fault malformed(int rank, int channel, const std::string& text) {
  return {FaultKind::malformed, rank, channel, -1, text};
}

// A lane that writes fewer chunks than its rank's outputs have leaves one unwritten. Told here,
// before memory is taken for the outputs: a file may say a million pieces, and have no move.
std::optional<Fault> too_short(const Schedule& schedule, int rank, int channel, const Lane& lane) {
  const auto pieces = static_cast<std::size_t>(schedule.pieces / schedule.shape.channels);
  const std::size_t chunks = static_cast<std::size_t>(output_blocks(schedule.shape, rank)) * pieces;
  std::size_t written = 0;
  for (const Move& move : lane)
    for (const End& end : move.destinations) written += end.where == End::Where::output ? 1 : 0;
  if (written >= chunks) return std::nullopt;
  return Fault{FaultKind::missing_contribution, rank, channel, -1,
               fmt::format("rank {}, channel {}: writes {} chunks of output, which has {}", rank,
                           channel, written, chunks)};
}

}  // namespace

Fault fault_at(const Schedule& schedule, FaultKind kind, int rank, int channel, std::size_t move,
               const std::string& detail) {
  const Lane& lane =
      schedule.lanes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(channel)];
  return {kind, rank, channel, static_cast<int>(move),
          fmt::format("rank {}, channel {}, move {} ({}): {}", rank, channel, move,
                      to_text(lane[move]), detail)};
}

std::optional<Fault> check_form(const Schedule& schedule) {
  const int ranks = schedule.shape.ranks;
  const int channels = schedule.shape.channels;
  if (ranks < 1 || channels < 1)
    return malformed(
        -1, -1,
        fmt::format("{} ranks and {} channels; at least 1 of each is needed", ranks, channels));
  if (schedule.shape.root < 0 || schedule.shape.root >= ranks)
    return malformed(-1, -1, fmt::format("root {} of {} ranks", schedule.shape.root, ranks));
  if (schedule.parts < 1)
    return malformed(-1, -1, fmt::format("messages of {} parts; at least 1", schedule.parts));
  if (schedule.pieces < channels || schedule.pieces % channels != 0)
    return malformed(
        -1, -1, fmt::format("{} pieces are no multiple of {} channels", schedule.pieces, channels));
  if (schedule.lanes.size() != static_cast<std::size_t>(ranks))
    return malformed(-1, -1,
                     fmt::format("lanes of {} ranks, not {}", schedule.lanes.size(), ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& lanes = schedule.lanes[static_cast<std::size_t>(rank)];
    if (lanes.size() != static_cast<std::size_t>(channels))
      return malformed(
          rank, -1,
          fmt::format("rank {} has {} lanes for {} channels", rank, lanes.size(), channels));
    for (int channel = 0; channel < channels; ++channel) {
      const Lane& lane = lanes[static_cast<std::size_t>(channel)];
      for (std::size_t m = 0; m < lane.size(); ++m)
        if (auto wrong = wrong_move(schedule, rank, channel, lane[m]); !wrong.empty())
          return fault_at(schedule, FaultKind::malformed, rank, channel, m, wrong);
      if (auto fault = too_short(schedule, rank, channel, lane)) return fault;
    }
  }
  return std::nullopt;
}

}  // namespace proof

std::optional<Fault> verify(const Schedule& schedule, const VerifyOptions& options) {
  if (options.slots < 1 || options.rounds < 1)
    return proof::malformed(-1, -1,
                            fmt::format("{} slots and {} rounds; at least 1 of each is "
                                        "needed",
                                        options.slots, options.rounds));
  if (auto fault = proof::check_form(schedule)) return fault;
  for (int channel = 0; channel < schedule.shape.channels; ++channel) {
    if (channel > 0 && proof::repeats_first_channel(schedule, channel)) continue;
    proof::Pairing pairing;
    if (auto fault = proof::pair_messages(schedule, channel, pairing)) return fault;
    if (auto fault = proof::run_on_symbols(schedule, channel, pairing, options)) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> verify(const Algorithm& algorithm, const Shape& shape,
                            const VerifyOptions& options) {
  return verify(schedule_of(algorithm, shape), options);
}

int slots_needed(const Schedule& schedule) {
  if (proof::check_form(schedule)) return 0;
  int needed = 1;
  for (int channel = 0; channel < schedule.shape.channels; ++channel) {
    if (channel > 0 && proof::repeats_first_channel(schedule, channel)) continue;
    proof::Pairing pairing;
    if (proof::pair_messages(schedule, channel, pairing)) return 0;
    // More slots than a round has messages are never filled. One round is enough: it starts and
    // ends with empty pipes, so if it can run through, so can the next, and then every order of the
    // moves of both does.
    std::size_t most = 1;
    for (const auto& pipe : pairing.pipes) most = std::max(most, pipe.messages);
    while (auto fault = proof::run_on_symbols(schedule, channel, pairing, {needed, 1, false})) {
      if (fault->kind != FaultKind::deadlock || needed >= static_cast<int>(most)) return 0;
      ++needed;
    }
  }
  return needed;
}

}  // namespace heddle::collectives
