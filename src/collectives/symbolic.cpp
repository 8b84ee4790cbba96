// The run on symbols. A chunk's value is the set of ranks whose contributions it holds, the block
// they come from, and a hash of the expression that made it.
//
// Lanes run in any order, each until it must wait (Kahn's networks: G. Kahn, "The semantics of a
// simple language for parallel programming", 1974). That proves every interleaving: a lane is
// deterministic, a pipe has one lane at either end, and a move that can run stays able to run until
// it has, since nobody else takes its messages or its free slots. Whatever the order, the same
// moves run on the same values, and the same lanes are stuck at the end.
#include <fmt/format.h>

#include <cstdint>

#include "collectives/proof.hpp"
#include "collectives/rank_sets.hpp"
#include "collectives/text.hpp"

namespace heddle::collectives::proof {
namespace {

struct Value {
  int set = 0;  // of ranks, an id of RankSets
  int block = 0;
  int completed_by = -1;  // the rank whose move made it complete, and that move
  int completed_where = 0;
  std::uint64_t expression = 0;

  bool complete() const { return completed_by >= 0; }
};

// One chunk of an output.
struct Cell {
  Value value;
  int round = -1;  // in which it was last written
  std::size_t move = 0;
};

// A message takes its slot with its first part and gives it back with its last.
struct RunningPipe {
  std::size_t first = 0;     // the oldest chunk's place among the values
  std::size_t filled = 0;    // chunks, in messages that are whole or not
  std::size_t messages = 0;  // whole, and not yet read to their ends
  bool sending = false;      // the newest message is not whole yet
};

struct RunningLane {
  int round = 0;
  std::size_t move = 0;
  std::size_t ready = 0;  // of the move's pipes, how many are known to be
  int waits_for = -1;     // pipe
  std::vector<Cell> output;
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Run {
 public:
  Run(const Schedule& schedule, int channel, const Pairing& pairing, const VerifyOptions& options)
      : schedule_(schedule),
        shape_(schedule.shape),
        channel_(channel),
        pairing_(pairing),
        options_(options),
        slots_(static_cast<std::size_t>(options.slots)),
        pieces_(schedule.pieces / shape_.channels),
        sets_(shape_.ranks),
        pipes_(pairing.pipes.size()),
        lanes_(static_cast<std::size_t>(shape_.ranks)),
        expressions_(static_cast<std::size_t>(pieces_)) {
    for (int rank = 0; rank < shape_.ranks; ++rank)
      at(rank).output.resize(static_cast<std::size_t>(output_blocks(shape_, rank)) *
                             static_cast<std::size_t>(pieces_));
    std::size_t values = 0;
    for (const Pairing::Pipe& pipe : pairing.pipes) {
      first_value_.push_back(values);
      values += capacity(pipe);
    }
    messages_.resize(values);
  }

  std::optional<Fault> run() {
    for (int rank = shape_.ranks - 1; rank >= 0; --rank) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const int rank = runnable_.back();
      runnable_.pop_back();
      if (auto fault = run_lane(rank)) return fault;
    }
    for (int rank = 0; rank < shape_.ranks; ++rank)
      if (at(rank).round < options_.rounds) return deadlock_of(rank);
    return std::nullopt;
  }

 private:
  RunningLane& at(int rank) { return lanes_[static_cast<std::size_t>(rank)]; }
  const Lane& moves(int rank) const {
    return schedule_.lanes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(channel_)];
  }
  const Pairing::LaneUse& use(int rank) const {
    return pairing_.lanes[static_cast<std::size_t>(rank)];
  }
  Fault fault(FaultKind kind, int rank, const std::string& detail) {
    const RunningLane& lane = at(rank);
    return fault_at(schedule_, kind, rank, channel_, lane.move,
                    fmt::format("in round {}, {}", lane.round, detail));
  }

  std::optional<Fault> run_lane(int rank) {
    RunningLane& lane = at(rank);
    while (lane.round < options_.rounds) {
      if (lane.move == moves(rank).size()) {
        if (auto fault = check_outputs(rank)) return fault;
        ++lane.round;
        lane.move = 0;
        continue;
      }
      if (!ready(rank)) return std::nullopt;
      if (auto fault = execute(rank)) return fault;
      ++lane.move;
      lane.ready = 0;
    }
    return std::nullopt;
  }

  // Notes the pipe to wait for when not.
  bool ready(int rank) {
    RunningLane& lane = at(rank);
    const Pairing::MoveUse& move = use(rank).moves[lane.move];
    for (; lane.ready < move.receives + move.sends; ++lane.ready) {
      const int pipe = use(rank).pipes[move.first + lane.ready];
      const RunningPipe& p = pipes_[static_cast<std::size_t>(pipe)];
      if (lane.ready < move.receives ? p.messages > 0 : p.sending || p.messages < slots_) continue;
      lane.waits_for = pipe;
      return false;
    }
    return true;
  }

  void wake(int rank, int pipe) {
    if (at(rank).waits_for != pipe) return;
    at(rank).waits_for = -1;
    runnable_.push_back(rank);
  }

  std::size_t capacity(const Pairing::Pipe& pipe) const { return pipe.parts * slots_; }
  Value& value_at(int pipe, std::size_t chunk) {
    const auto p = static_cast<std::size_t>(pipe);
    return messages_[first_value_[p] + chunk % capacity(pairing_.pipes[p])];
  }

  Value receive(int pipe, bool more) {
    RunningPipe& p = pipes_[static_cast<std::size_t>(pipe)];
    const Value value = value_at(pipe, p.first++);
    --p.filled;
    if (more) return value;
    --p.messages;
    wake(pairing_.pipes[static_cast<std::size_t>(pipe)].from, pipe);
    return value;
  }

  void send(int pipe, bool more, const Value& value) {
    RunningPipe& p = pipes_[static_cast<std::size_t>(pipe)];
    value_at(pipe, p.first + p.filled++) = value;
    p.sending = more;
    if (more) return;
    ++p.messages;
    wake(pairing_.pipes[static_cast<std::size_t>(pipe)].to, pipe);
  }

  Cell& cell(int rank, int block, int piece) {
    const int index = block * pieces_ + piece % pieces_;
    return at(rank).output[static_cast<std::size_t>(index)];
  }

  // Which output block an input block lies in, or -1.
  int alias_of(int rank, int block) const {
    if (!options_.in_place) return -1;
    for (int output = 0; output < output_blocks(shape_, rank); ++output)
      if (base::input_in_place(shape_.collective, rank, shape_.root, output) == block)
        return output;
    return -1;
  }

  // A rank's own contribution. A value's block is where its data belongs: the block of the input,
  // or for a gather the output block of the rank that it comes from.
  Value contribution(int rank, int block) const {
    const int belongs = gathers() ? rank : block;
    return {rank, belongs, -1, 0,
            mixed(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(belongs))};
  }
  bool gathers() const {
    return shape_.collective == base::Collective::all_gather ||
           shape_.collective == base::Collective::gather;
  }
  // The block whose data belongs in an output block of a rank.
  int belonging(int rank, int block) const {
    switch (shape_.collective) {
      case base::Collective::reduce_scatter:
      case base::Collective::scatter:
      case base::Collective::all_to_all: return rank;
      default: return block;
    }
  }
  // The set of ranks whose contributions an output block must hold.
  int expected_set(int block) const {
    if (base::reduces(shape_.collective)) return sets_.everybody();
    return base::only_root_sends(shape_.collective) ? shape_.root : block;
  }

  std::optional<Fault> read_local(int rank, const End& end, int piece, Value& value) {
    const bool is_input = end.where == End::Where::input;
    const int block = is_input ? alias_of(rank, end.index) : end.index;
    const Cell* written = block < 0 ? nullptr : &cell(rank, block, piece);
    if (written != nullptr && written->round != at(rank).round) written = nullptr;
    if (!is_input) {
      if (written == nullptr)
        return fault(FaultKind::unwritten_output, rank,
                     fmt::format("{} was not written before", to_text(end)));
      value = written->value;
      return std::nullopt;
    }
    value = contribution(rank, end.index);
    // The copy of a chunk onto itself does no harm, unless each reading of an input scales it.
    const bool same = !base::reduces(shape_.collective) && written != nullptr &&
                      written->value.expression == value.expression;
    if (written == nullptr || same) return std::nullopt;
    return fault(FaultKind::overwritten_input, rank,
                 fmt::format("{} is the memory of output {}, which move {} has written over",
                             to_text(end), block, written->move));
  }

  std::optional<Fault> read_sources(int rank, std::vector<Value>& values) {
    const Move& move = moves(rank)[at(rank).move];
    std::size_t next = use(rank).moves[at(rank).move].first;
    for (const End& end : move.sources) {
      Value& value = values.emplace_back();
      if (end.where == End::Where::peer) {
        value = receive(use(rank).pipes[next++], end.more);
      } else if (auto fault = read_local(rank, end, move.piece, value)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<Fault> reduce(int rank, const std::vector<Value>& values, Value& result) {
    const Move& move = moves(rank)[at(rank).move];
    result = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      const Value& value = values[i];
      if (value.block != result.block)
        return fault(FaultKind::wrong_value, rank,
                     fmt::format("{} holds data of block {}, the sources before it of block {}",
                                 to_text(move.sources[i]), value.block, result.block));
      const int united = sets_.unite(result.set, value.set);
      if (united == RankSets::kOverlap)
        return fault(FaultKind::doubled_contribution, rank,
                     fmt::format("{} holds {}, the sources before it {}", to_text(move.sources[i]),
                                 sets_.to_text(value.set), sets_.to_text(result.set)));
      result.set = united;
      if (value.complete()) {
        result.completed_by = value.completed_by;
        result.completed_where = value.completed_where;
      }
      result.expression = mixed(result.expression, value.expression);
    }
    const bool completes =
        base::reduces(shape_.collective) && result.set == sets_.everybody() && !result.complete();
    if (completes != move.completes)
      return fault(FaultKind::wrong_completes, rank,
                   completes ? "the result holds all contributions here for the first time, but "
                               "is not marked as what completes"
                             : "marked as what completes, but " + why_not_completing(result));
    if (completes) {
      result.completed_by = rank;
      result.completed_where = static_cast<int>(at(rank).move);
    }
    return std::nullopt;
  }

  std::string why_not_completing(const Value& result) {
    if (!base::reduces(shape_.collective))
      return fmt::format("{} reduces nothing", base::name_of(shape_.collective));
    if (result.complete())
      return fmt::format("the result was complete first on rank {}, channel {}, at move {}",
                         result.completed_by, channel_, result.completed_where);
    return fmt::format("the result holds {} only", sets_.to_text(result.set));
  }

  std::optional<Fault> execute(int rank) {
    const RunningLane& lane = at(rank);
    const Move& move = moves(rank)[lane.move];
    values_.clear();
    if (auto fault = read_sources(rank, values_)) return fault;
    Value result;
    if (auto fault = reduce(rank, values_, result)) return fault;
    const Pairing::MoveUse& used = use(rank).moves[lane.move];
    std::size_t next = used.first + used.receives;
    for (const End& end : move.destinations) {
      if (end.where == End::Where::output)
        cell(rank, end.index, move.piece) = {result, lane.round, lane.move};
      else
        send(use(rank).pipes[next++], end.more, result);
    }
    return std::nullopt;
  }

  // At the end of a rank's round.
  std::optional<Fault> check_outputs(int rank) {
    const int blocks = output_blocks(shape_, rank);
    for (int block = 0; block < blocks; ++block)
      for (int piece = 0; piece < pieces_; ++piece)
        if (auto fault = check_output(rank, block, piece)) return fault;
    return std::nullopt;
  }

  std::optional<Fault> check_output(int rank, int block, int piece) {
    const Cell& written = cell(rank, block, piece);
    const int numbered = channel_ * pieces_ + piece;
    if (written.round != at(rank).round) {
      return Fault{FaultKind::missing_contribution, rank, channel_, -1,
                   fmt::format("rank {}, channel {}: piece {} of output {} is never written", rank,
                               channel_, numbered, block)};
    }
    const Value& value = written.value;
    const int belongs = belonging(rank, block);
    const auto wrong = [&](FaultKind kind, const std::string& detail) {
      return fault_at(schedule_, kind, rank, channel_, written.move,
                      fmt::format("output {} is left with {}", block, detail));
    };
    if (value.block != belongs)
      return wrong(FaultKind::wrong_value,
                   fmt::format("data of block {} where block {} belongs", value.block, belongs));
    if (const int expected = expected_set(block); value.set != expected)
      return base::reduces(shape_.collective)
                 ? wrong(FaultKind::missing_contribution,
                         fmt::format("the contributions of {} only", sets_.to_text(value.set)))
                 : wrong(FaultKind::wrong_value,
                         fmt::format("data of {} where that of {} belongs",
                                     sets_.to_text(value.set), sets_.to_text(expected)));
    if (shape_.collective != base::Collective::all_reduce) return std::nullopt;
    Expression& first = expressions_[static_cast<std::size_t>(piece)];
    if (first.rank < 0) first = {rank, value.expression};
    if (first.expression != value.expression)
      return wrong(
          FaultKind::different_bits,
          fmt::format("contributions reduced in another order than on rank {}", first.rank));
    return std::nullopt;
  }

  // Who waits for whom, from a stuck rank around to one seen before. Messages pair up, so a lane
  // that waits waits for one that waits too.
  Fault deadlock_of(int rank) {
    const int start = rank;
    std::vector<char> seen(lanes_.size());
    std::string text;
    for (int links = 0; links < 8; ++links) {
      const RunningLane& lane = at(rank);
      const Pairing::Pipe& pipe = pairing_.pipes[static_cast<std::size_t>(lane.waits_for)];
      const bool receives = pipe.to == rank;
      if (links > 0) text += fmt::format(", which at its move {} ", lane.move);
      text += receives ? fmt::format("waits for a message from rank {}", pipe.from)
                       : fmt::format("waits for a free slot to rank {}", pipe.to);
      seen[static_cast<std::size_t>(rank)] = 1;
      rank = receives ? pipe.from : pipe.to;
      if (seen[static_cast<std::size_t>(rank)] != 0) break;
    }
    return fault(FaultKind::deadlock, start, fmt::format("with {} slots: {}", slots_, text));
  }

  struct Expression {
    int rank = -1;  // that finished the piece first
    std::uint64_t expression = 0;
  };

  const Schedule& schedule_;
  const Shape shape_;
  const int channel_;
  const Pairing& pairing_;
  const VerifyOptions options_;
  const std::size_t slots_;
  const int pieces_;  // of this channel
  RankSets sets_;
  std::vector<RunningPipe> pipes_;
  std::vector<std::size_t> first_value_;  // by pipe, index into messages_
  std::vector<Value> messages_;           // the chunks in each pipe, a ring
  std::vector<RunningLane> lanes_;
  std::vector<Expression> expressions_;  // of the results, by piece
  std::vector<int> runnable_;
  std::vector<Value> values_;  // of the sources of the move that runs
};

}  // namespace

std::optional<Fault> run_on_symbols(const Schedule& schedule, int channel, const Pairing& pairing,
                                    const VerifyOptions& options) {
  return Run(schedule, channel, pairing, options).run();
}

}  // namespace heddle::collectives::proof
