#include "executor/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "collectives/rounds.hpp"

namespace heddle::executor {

using collectives::End;
using collectives::Move;
using Where = collectives::End::Where;

namespace {

// Turns one lane of moves into flat arrays and finds, on the way, which moves write memory that an
// earlier move of the lane may still be sending from. Lanes own different pieces, so that no hazard
// crosses lanes; rounds own different segments, so that none crosses rounds.
class LaneBuilder {
 public:
  LaneBuilder(const Program& program, const ProgramLane& lane)
      : program_(program),
        shape_(program.shape),
        rank_(program.rank),
        lane_{lane.channel, lane.in_sequence, {}, {}, {}} {
    for (const Move& move : lane.moves) add(move);
    HEDDLE_ASSERT(open_.empty(), "the last message of a round does not end, {} such", open_.size());
  }

  PlannedLane take() { return std::move(lane_); }

 private:
  using Place = std::tuple<Where, int, int>;  // buffer, block, piece

  void add(const Move& move) {
    check(move);
    PlannedMove planned{};
    planned.piece = static_cast<std::uint32_t>(move.piece);
    planned.first_end = static_cast<std::uint32_t>(lane_.ends.size());
    planned.sources = static_cast<std::uint32_t>(move.sources.size());
    planned.destinations = static_cast<std::uint32_t>(move.destinations.size());
    planned.completes = move.completes;
    planned.local = kNoEnd;
    const auto stage = stage_of(move);
    planned.stage = planned.first_end + static_cast<std::uint32_t>(stage.value_or(0));
    for (const End& end : move.sources) add_end(end, true, false, planned);
    for (const End& end : move.destinations) add_end(end, false, stage.has_value(), planned);
    note_reads(move);
    note_hazards(move, planned);
    note_writes_and_sends(move, planned);
    lane_.most_sources = std::max(lane_.most_sources, planned.sources);
    lane_.most_destinations = std::max(lane_.most_destinations, planned.destinations);
    lane_.moves.push_back(planned);
  }

  void add_end(const End& end, bool source, bool staged, PlannedMove& planned) {
    const auto at = static_cast<std::uint32_t>(lane_.ends.size());
    const bool is_peer = end.where == Where::peer;
    lane_.ends.push_back({end.where, is_peer && !source && staged,
                          end.where == Where::output && !source, end.index, 0});
    if (!is_peer) planned.local = at;
    if (is_peer) note_part(at, source, end);
  }

  // Numbers the parts of a message and, at its last, tells all of them how many they are.
  void note_part(std::uint32_t at, bool source, const End& end) {
    std::vector<std::uint32_t>& message = open_[{source, end.index}];
    lane_.ends[at].part = static_cast<std::uint32_t>(message.size());
    message.push_back(at);
    if (end.more) return;
    const auto parts = static_cast<std::uint32_t>(message.size());
    HEDDLE_ASSERT(parts <= static_cast<std::uint32_t>(program_.parts), "{} parts of at most {}",
                  parts, program_.parts);
    for (const std::uint32_t part : message) {
      lane_.ends[part].parts = parts;
      // A message of several chunks is put together in its slot.
      if (parts > 1) lane_.ends[part].may_send_in_place = false;
    }
    open_.erase({source, end.index});
  }

  void check(const Move& move) const {
    HEDDLE_ASSERT(move.piece >= 0 && move.piece < program_.pieces, "piece {} of {}", move.piece,
                  program_.pieces);
    HEDDLE_ASSERT(!move.sources.empty() && !move.destinations.empty(),
                  "{} sources, {} destinations", move.sources.size(), move.destinations.size());
    for (const auto* ends : {&move.sources, &move.destinations}) {
      std::set<int> peers;
      for (const End& end : *ends) {
        const int limit = end.where == Where::peer    ? shape_.ranks
                          : end.where == Where::input ? program_.inputs
                                                      : program_.outputs;
        HEDDLE_ASSERT(end.index >= 0 && end.index < limit, "index {} of {}", end.index, limit);
        if (end.where != Where::peer) continue;
        HEDDLE_ASSERT(end.index != rank_, "rank {} names itself", rank_);
        HEDDLE_ASSERT(peers.insert(end.index).second, "peer {} twice in a move", end.index);
      }
    }
    for (const End& end : move.destinations) {
      HEDDLE_ASSERT(end.where != Where::input, "a move writes input block {}", end.index);
    }
  }

  // The end, counted from the move's first, whose local chunk holds what the peers get: the only
  // source, or else the output that the result is written to.
  static std::optional<std::size_t> stage_of(const Move& move) {
    if (move.sources.size() == 1 && move.sources[0].where != Where::peer && !move.completes)
      return 0;
    const auto output = std::find_if(move.destinations.begin(), move.destinations.end(),
                                     [](const End& end) { return end.where == Where::output; });
    if (output == move.destinations.end()) return std::nullopt;
    return move.sources.size() + static_cast<std::size_t>(output - move.destinations.begin());
  }

  void note_reads(const Move& move) {
    for (const End& end : move.sources) {
      if (end.where != Where::output) continue;
      const auto writer = writers_.find({end.where, end.index, move.piece});
      if (writer != writers_.end()) lane_.ends[writer->second].last_use = false;
    }
  }

  void note_hazards(const Move& move, PlannedMove& planned) {
    planned.first_hazard = static_cast<std::uint32_t>(lane_.hazards.size());
    for (const End& end : move.destinations) {
      if (end.where != Where::output) continue;
      wait_for_sends({Where::output, end.index, move.piece}, false);
      const int under = base::input_in_place(shape_.collective, rank_, shape_.root, end.index);
      // The copy of a chunk onto itself writes nothing.
      const bool onto_itself =
          move.sources.size() == 1 && move.sources[0] == collectives::input(under);
      if (under >= 0 && !onto_itself) wait_for_sends({Where::input, under, move.piece}, true);
    }
    planned.hazards = static_cast<std::uint32_t>(lane_.hazards.size()) - planned.first_hazard;
  }

  void wait_for_sends(const Place& place, bool only_in_place) {
    const auto found = sends_.find(place);
    if (found == sends_.end()) return;
    for (const std::uint32_t end : found->second) lane_.hazards.push_back({end, only_in_place});
    sends_.erase(found);
  }

  void note_writes_and_sends(const Move& move, const PlannedMove& planned) {
    const PlannedEnd& stage = lane_.ends[planned.stage];
    for (std::uint32_t i = 0; i < planned.destinations; ++i) {
      const std::uint32_t at = planned.first_end + planned.sources + i;
      const PlannedEnd& end = lane_.ends[at];
      if (end.where == Where::output) writers_[{end.where, end.index, move.piece}] = at;
      if (end.may_send_in_place) sends_[{stage.where, stage.index, move.piece}].push_back(at);
    }
  }

  const Program& program_;
  const collectives::Shape& shape_;
  int rank_;
  PlannedLane lane_;
  // The parts so far of the messages that go on, by (is received, peer).
  std::map<std::pair<bool, int>, std::vector<std::uint32_t>> open_;
  std::map<Place, std::uint32_t> writers_;             // the end that wrote the place last
  std::map<Place, std::vector<std::uint32_t>> sends_;  // ends that may still read it
};

PipeNeed need_of(const PlannedLane& lane, const PlannedEnd& end, bool source) {
  return {end.index, lane.channel,
          source ? PipeNeed::Direction::receive : PipeNeed::Direction::send};
}

// Calls visit(end, whether it is a source) for the lane's peers.
template <typename Visit>
void for_each_peer(PlannedLane& lane, Visit visit) {
  for (const PlannedMove& move : lane.moves) {
    for (std::uint32_t i = 0; i < move.sources + move.destinations; ++i) {
      PlannedEnd& end = lane.ends[move.first_end + i];
      if (end.where == Where::peer) visit(end, i < move.sources);
    }
  }
}

}  // namespace

Plan::Plan(const Program& program, std::size_t message_bytes)
    : shape_(program.shape),
      rank_(program.rank),
      pieces_(static_cast<std::size_t>(program.pieces)),
      parts_(static_cast<std::size_t>(program.parts)),
      message_bytes_(message_bytes) {
  HEDDLE_ASSERT(collectives::parts_fit(message_bytes, program.parts),
                "messages of {} bytes, {} parts", message_bytes, parts_);
  std::set<PipeNeed> needs;
  for (const ProgramLane& lane : program.lanes) {
    lanes_.push_back(LaneBuilder(program, lane).take());
    for_each_peer(lanes_.back(), [&](const PlannedEnd& end, bool source) {
      needs.insert(need_of(lanes_.back(), end, source));
    });
  }
  needs_.assign(needs.begin(), needs.end());
  send_pipes_.resize(needs_.size());
  for (PlannedLane& lane : lanes_) {
    for_each_peer(lane, [&](PlannedEnd& end, bool source) {
      const auto at = std::lower_bound(needs_.begin(), needs_.end(), need_of(lane, end, source));
      end.need = static_cast<std::uint32_t>(at - needs_.begin());
    });
  }
}

void Plan::bind(PipeTable& pipes) {
  receive_pipes_.resize(needs_.size());
  for (std::size_t i = 0; i < needs_.size(); ++i) {
    const PipeNeed& need = needs_[i];
    const bool send = need.direction == PipeNeed::Direction::send;
    if (send) {
      send_pipes_[i] = &pipes.to(need.peer, need.channel);
    } else {
      receive_pipes_[i] = &pipes.from(need.peer, need.channel);
    }
    const std::size_t bytes = send ? send_pipes_[i]->slot_bytes() : receive_pipes_[i]->slot_bytes();
    HEDDLE_ASSERT(bytes >= message_bytes_,
                  "pipe {} rank {} on channel {} has slots of {} bytes, need {}",
                  send ? "to" : "from", need.peer, need.channel, bytes, message_bytes_);
    told_length_ = std::min(told_length_, told_length(i));
  }
  for (PlannedLane& lane : lanes_) {
    for_each_peer(lane, [&](PlannedEnd& end, bool source) {
      end.from = source ? receive_pipes_[end.need] : nullptr;
      end.to = send_pipes_[end.need];
    });
  }
  bound_ = true;
}

std::size_t Plan::told_length(std::size_t need) const {
  const transport::SendPipe* const to = send_pipes_[need];
  return to != nullptr ? to->told_length() : receive_pipes_[need]->told_length();
}

}  // namespace heddle::executor
