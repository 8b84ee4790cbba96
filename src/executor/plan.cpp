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

// The input block that lies in the same memory as an output block when the operation is in place.
int input_under(const collectives::Shape& shape, int rank, int output_block) {
  switch (shape.collective) {
    case base::Collective::all_reduce: return 0;
    case base::Collective::all_gather: return output_block == rank ? 0 : -1;
    case base::Collective::reduce_scatter: return rank;
  }
  return -1;
}

// Turns one lane of moves into flat arrays and finds, on the way, which moves write memory that an
// earlier move of the lane may still be sending from. Lanes own different pieces, so that no hazard
// crosses lanes; rounds own different segments, so that none crosses rounds.
class LaneBuilder {
 public:
  LaneBuilder(const collectives::Shape& shape, int rank, int channel, std::size_t pieces)
      : shape_(shape), rank_(rank), pieces_(pieces), lane_{channel, {}, {}, {}} {}

  void add(const Move& move) {
    check(move);
    PlannedMove planned{};
    planned.piece = static_cast<std::uint32_t>(move.piece);
    planned.first_end = static_cast<std::uint32_t>(lane_.ends.size());
    planned.sources = static_cast<std::uint32_t>(move.sources.size());
    planned.destinations = static_cast<std::uint32_t>(move.destinations.size());
    planned.completes = move.completes;
    const auto stage = stage_of(move);
    planned.stage = planned.first_end + static_cast<std::uint32_t>(stage.value_or(0));
    for (const End& end : move.sources) {
      lane_.ends.push_back({end.where, false, false, end.index, 0});
    }
    for (const End& end : move.destinations) {
      const bool in_place = end.where == Where::peer && stage;
      lane_.ends.push_back({end.where, in_place, end.where == Where::output, end.index, 0});
    }
    note_reads(move);
    note_hazards(move, planned);
    note_writes_and_sends(move, planned);
    lane_.most_sources = std::max(lane_.most_sources, planned.sources);
    lane_.most_destinations = std::max(lane_.most_destinations, planned.destinations);
    lane_.moves.push_back(planned);
  }

  PlannedLane take() { return std::move(lane_); }

 private:
  using Place = std::tuple<Where, int, int>;  // buffer, block, piece

  void check(const Move& move) const {
    HEDDLE_ASSERT(move.piece >= 0 && static_cast<std::size_t>(move.piece) < pieces_,
                  "piece {} of {}", move.piece, pieces_);
    HEDDLE_ASSERT(!move.sources.empty() && !move.destinations.empty(),
                  "{} sources, {} destinations", move.sources.size(), move.destinations.size());
    for (const auto* ends : {&move.sources, &move.destinations}) {
      std::set<int> peers;
      for (const End& end : *ends) {
        const int limit = end.where == Where::peer ? shape_.ranks
                          : end.where == Where::input
                              ? base::input_blocks(shape_.collective, shape_.ranks)
                              : base::output_blocks(shape_.collective, shape_.ranks);
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
      const int under = input_under(shape_, rank_, end.index);
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

  const collectives::Shape& shape_;
  int rank_;
  std::size_t pieces_;
  PlannedLane lane_;
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

Plan::Plan(const collectives::Algorithm& algorithm, const collectives::Shape& shape, int rank,
           std::size_t slot_bytes)
    : shape_(shape), rank_(rank), slot_bytes_(slot_bytes) {
  HEDDLE_ASSERT(algorithm.supports(shape.collective), "{} does not do {}", algorithm.name,
                base::name_of(shape.collective));
  HEDDLE_ASSERT(shape.channels >= 1 && rank >= 0 && rank < shape.ranks,
                "rank {} of {}, {} channels", rank, shape.ranks, shape.channels);
  HEDDLE_ASSERT(slot_bytes >= collectives::kPieceAlign, "slots of {} bytes", slot_bytes);
  pieces_ = static_cast<std::size_t>(algorithm.pieces(shape));
  std::set<PipeNeed> needs;
  for (int channel = 0; channel < shape.channels; ++channel) {
    LaneBuilder builder(shape_, rank, channel, pieces_);
    for (const Move& move : algorithm.lane(shape, rank, channel)) builder.add(move);
    lanes_.push_back(builder.take());
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
  std::vector<transport::ReceivePipe*> receive_pipes(needs_.size());
  for (std::size_t i = 0; i < needs_.size(); ++i) {
    const PipeNeed& need = needs_[i];
    const bool send = need.direction == PipeNeed::Direction::send;
    if (send) {
      send_pipes_[i] = &pipes.to(need.peer, need.channel);
    } else {
      receive_pipes[i] = &pipes.from(need.peer, need.channel);
    }
    const std::size_t bytes = send ? send_pipes_[i]->slot_bytes() : receive_pipes[i]->slot_bytes();
    HEDDLE_ASSERT(bytes >= slot_bytes_,
                  "pipe {} rank {} on channel {} has slots of {} bytes, need {}",
                  send ? "to" : "from", need.peer, need.channel, bytes, slot_bytes_);
  }
  for (PlannedLane& lane : lanes_) {
    for_each_peer(lane, [&](PlannedEnd& end, bool source) {
      end.from = source ? receive_pipes[end.need] : nullptr;
      end.to = send_pipes_[end.need];
    });
  }
  bound_ = true;
}

}  // namespace heddle::executor
