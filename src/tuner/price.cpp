#include "tuner/price.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collectives/extent.hpp"
#include "collectives/rounds.hpp"

namespace heddle::tuner {
namespace {

using collectives::End;
using collectives::Lane;
using collectives::Move;
using collectives::Shape;
using topology::AdapterModel;
using topology::Machine;

// The costs of one walk. Two walks, one with the fixed costs and one with a byte a chunk, give the
// two coefficients; their sum is never less than what a walk with both would give.
struct Costs {
  double move;
  double copy;    // a chunk to one more destination
  double reduce;  // a chunk of one more source
  double inner_message, inner_way;
  double outer_message, outer_way;
};

double inverse(double rate) { return rate > 0 ? 1 / rate : 0; }

// What a lone message between hosts goes at.
double pipe_bandwidth(const AdapterModel& network) {
  const double all = network.bandwidth * std::max(network.count, 1);
  return network.stream_bandwidth > 0 ? std::min(network.stream_bandwidth, all) : all;
}

Costs fixed_costs(const Machine& machine, const AdapterModel& network) {
  return {machine.rank.move_time,
          0,
          0,
          machine.inner.message_time,
          machine.inner.latency,
          network.post_time + network.message_time,
          network.latency};
}

Costs byte_costs(const Machine& machine, const AdapterModel& network) {
  return {0,
          inverse(machine.rank.copy_bandwidth),
          inverse(machine.rank.reduce_bandwidth),
          0,
          inverse(machine.inner.bandwidth),
          0,
          inverse(pipe_bandwidth(network))};
}

// What a rank's moves do in one round.
struct Load {
  double moves = 0, copies = 0, reductions = 0;
  double inner_out = 0, inner_in = 0, outer_out = 0, outer_in = 0;  // chunks
  double inner_messages = 0, outer_messages = 0;                    // sent
};

bool same_host(const Shape& shape, int a, int b, const Machine& machine) {
  if (shape.ranks_per_host > 0) return a / shape.ranks_per_host == b / shape.ranks_per_host;
  return machine.hosts <= 1;
}

// Which pipe each end of the lanes is, found once for all walks.
class Links {
 public:
  explicit Links(const std::vector<Lane>& lanes) : of_rank_(lanes.size()) {
    for (std::size_t rank = 0; rank < lanes.size(); ++rank)
      for (const Move& move : lanes[rank]) {
        for (const End& end : move.sources) add(rank, end, true);
        for (const End& end : move.destinations) add(rank, end, false);
      }
  }

  std::size_t pipes() const { return known_.size(); }
  // By a rank's ends, sources before destinations, move after move; kNone for those of buffers.
  const std::vector<std::uint32_t>& of(int rank) const {
    return of_rank_[static_cast<std::size_t>(rank)];
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void add(std::size_t rank, const End& end, bool reads) {
    std::uint32_t pipe = kNone;
    if (end.where == End::Where::peer) {
      const auto peer = static_cast<std::uint64_t>(end.index), own = std::uint64_t{rank};
      const std::uint64_t key = reads ? peer << 32 | own : own << 32 | peer;
      pipe = known_.try_emplace(key, static_cast<std::uint32_t>(known_.size())).first->second;
    }
    of_rank_[rank].push_back(pipe);
  }

  std::vector<std::vector<std::uint32_t>> of_rank_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by the ranks it is from and to
};

// Runs the lanes with every rank's clock: a move begins when the rank is free, its messages are
// there and slots are free. Links are never crowded here; that is in the loads.
class Walk {
 public:
  Walk(const std::vector<Lane>& lanes, const Links& links, const Shape& shape,
       const Machine& machine, const Costs& costs)
      : lanes_(lanes),
        links_(links),
        shape_(shape),
        machine_(machine),
        costs_(costs),
        ranks_(lanes.size()),
        pipes_(links.pipes()) {}

  double run() {
    std::vector<int> runnable;
    for (int rank = shape_.ranks - 1; rank >= 0; --rank) runnable.push_back(rank);
    while (!runnable.empty()) {
      const int rank = runnable.back();
      runnable.pop_back();
      run_lane(rank, runnable);
    }
    double last = 0;
    for (const Rank& rank : ranks_) last = std::max(last, rank.clock);
    return last;
  }

  // How often it looked whether an end is ready.
  std::size_t looks() const { return looks_; }

 private:
  struct Pipe {
    std::vector<double> arrived;     // of each whole message
    std::vector<double> released;    // of each message that was read to its end
    std::size_t sent = 0, read = 0;  // whole messages
    bool open = false;               // the newest is not whole yet
    int waiting = -1;                // rank that waits for it
  };
  struct Rank {
    double clock = 0;
    std::size_t move = 0;
    std::size_t first_end = 0;  // of the move, among the rank's
    std::size_t ready = 0;      // of the move's ends, how many are known to be
    double start = 0;           // of the move, by those
  };

  // An end of the rank's move.
  Pipe& pipe(int rank, const Rank& at, std::size_t end) {
    return pipes_[links_.of(rank)[at.first_end + end]];
  }

  static void wake(Pipe& pipe, std::vector<int>& runnable) {
    if (pipe.waiting < 0) return;
    runnable.push_back(pipe.waiting);
    pipe.waiting = -1;
  }

  void run_lane(int rank, std::vector<int>& runnable) {
    const Lane& lane = lanes_[static_cast<std::size_t>(rank)];
    Rank& at = ranks_[static_cast<std::size_t>(rank)];
    for (; at.move < lane.size(); ++at.move)
      if (!try_move(rank, lane[at.move], at, runnable)) return;
  }

  // An end that was ready stays so, and is not looked at again when the rank is woken for the next:
  // a move of many sources wakes for each of them.
  bool try_move(int rank, const Move& move, Rank& at, std::vector<int>& runnable) {
    const std::size_t sources = move.sources.size();
    for (; at.ready < sources + move.destinations.size(); ++at.ready) {
      const bool reads = at.ready < sources;
      const End& end = reads ? move.sources[at.ready] : move.destinations[at.ready - sources];
      if (end.where != End::Where::peer) continue;
      ++looks_;
      Pipe& between = pipe(rank, at, at.ready);
      if (!(reads ? may_read(between, rank, at) : may_write(between, rank, at))) return false;
    }
    finish(rank, move, std::max(at.clock, at.start), at, runnable);
    at.first_end += at.ready;
    at.ready = 0;
    at.start = 0;
    return true;
  }

  static bool may_read(Pipe& from, int rank, Rank& at) {
    if (from.read >= from.sent) return from.waiting = rank, false;
    at.start = std::max(at.start, from.arrived[from.read]);
    return true;
  }

  bool may_write(Pipe& to, int rank, Rank& at) const {
    const auto slots = static_cast<std::size_t>(std::max(machine_.software.slots, 2));
    if (to.open || to.sent < slots) return true;
    if (to.released.size() + slots <= to.sent) return to.waiting = rank, false;
    at.start = std::max(at.start, to.released[to.sent - slots]);
    return true;
  }

  void finish(int rank, const Move& move, double start, Rank& at, std::vector<int>& runnable) {
    double end_time = start + costs_.move +
                      costs_.reduce * static_cast<double>(move.sources.size() - 1) +
                      costs_.copy * static_cast<double>(move.destinations.size());
    for (const End& end : move.destinations)
      if (end.where == End::Where::peer && !end.more)
        end_time += same_host(shape_, rank, end.index, machine_) ? costs_.inner_message
                                                                 : costs_.outer_message;
    at.clock = end_time;
    std::size_t next = 0;
    for (const End& end : move.sources) {
      const std::size_t number = next++;
      if (end.where != End::Where::peer || end.more) continue;
      Pipe& from = pipe(rank, at, number);
      ++from.read;
      from.released.push_back(end_time);
      wake(from, runnable);
    }
    for (const End& end : move.destinations) {
      const std::size_t number = next++;
      if (end.where != End::Where::peer) continue;
      Pipe& to = pipe(rank, at, number);
      to.open = end.more;
      if (end.more) continue;
      ++to.sent;
      to.arrived.push_back(end_time + (same_host(shape_, rank, end.index, machine_)
                                           ? costs_.inner_way
                                           : costs_.outer_way));
      wake(to, runnable);
    }
  }

  const std::vector<Lane>& lanes_;
  const Links& links_;
  const Shape& shape_;
  const Machine& machine_;
  const Costs& costs_;
  std::vector<Rank> ranks_;
  std::size_t looks_ = 0;
  std::vector<Pipe> pipes_;
};

std::vector<Load> loads_of(const std::vector<Lane>& lanes, const Shape& shape,
                           const Machine& machine) {
  std::vector<Load> loads(lanes.size());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Load& load = loads[static_cast<std::size_t>(rank)];
    for (const Move& move : lanes[static_cast<std::size_t>(rank)]) {
      load.moves += 1;
      load.copies += static_cast<double>(move.destinations.size());
      load.reductions += static_cast<double>(move.sources.size() - 1);
      for (const End& end : move.destinations) {
        if (end.where != End::Where::peer) continue;
        const bool inner = same_host(shape, rank, end.index, machine);
        Load& other = loads[static_cast<std::size_t>(end.index)];
        (inner ? load.inner_out : load.outer_out) += 1;
        (inner ? other.inner_in : other.outer_in) += 1;
        if (!end.more) (inner ? load.inner_messages : load.outer_messages) += 1;
      }
    }
  }
  return loads;
}

void raise(Line& line, const Line& other) {
  line.fixed = std::max(line.fixed, other.fixed);
  line.per_byte = std::max(line.per_byte, other.per_byte);
}

void set_loads(RoundPrice& round, const std::vector<Load>& loads, const Shape& shape,
               const Machine& machine, const AdapterModel& network) {
  const Costs fixed = fixed_costs(machine, network);
  const Costs byte = byte_costs(machine, network);
  const auto per_host = static_cast<std::size_t>(
      shape.ranks_per_host > 0 ? shape.ranks_per_host : (machine.hosts <= 1 ? shape.ranks : 1));
  const bool bus = machine.inner.kind == topology::InnerLink::Kind::bus;
  for (std::size_t first = 0; first < loads.size(); first += per_host) {
    Load host;
    Line work;
    for (std::size_t r = first; r < std::min(first + per_host, loads.size()); ++r) {
      const Load& load = loads[r];
      const Line rank = {load.moves * fixed.move + load.inner_messages * fixed.inner_message +
                             load.outer_messages * network.post_time,
                         load.copies * byte.copy + load.reductions * byte.reduce};
      raise(round.rank, rank);
      work.fixed += rank.fixed;
      work.per_byte += rank.per_byte;
      host.inner_out += load.inner_out;
      host.outer_out += load.outer_out;
      host.outer_in += load.outer_in;
      host.outer_messages += load.outer_messages;
      if (!bus)
        round.inner.per_byte = std::max(round.inner.per_byte,
                                        std::max(load.inner_out, load.inner_in) * byte.inner_way);
    }
    if (bus) round.inner.per_byte = std::max(round.inner.per_byte, host.inner_out * byte.inner_way);
    const double cores = machine.cores > 0 ? machine.cores : static_cast<double>(per_host);
    raise(round.host, {work.fixed / cores, work.per_byte / cores});
    const double busiest = std::max(host.outer_out, host.outer_in);
    const auto engines =
        static_cast<double>(std::max(network.count, 1) * std::max(network.send_engines, 1));
    round.adapters.per_byte = std::max(
        round.adapters.per_byte, busiest * inverse(network.bandwidth * std::max(network.count, 1)));
    round.adapters.fixed =
        std::max(round.adapters.fixed, host.outer_messages * network.message_time / engines);
  }
}

// The chunks that a rank sends to each rank of another host, the most of all pipes.
double most_on_a_pipe(const std::vector<Lane>& lanes, const Shape& shape, const Machine& machine) {
  double most = 0;
  std::unordered_map<int, double> to;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    to.clear();
    for (const Move& move : lanes[static_cast<std::size_t>(rank)])
      for (const End& end : move.destinations)
        if (end.where == End::Where::peer && !same_host(shape, rank, end.index, machine))
          most = std::max(most, to[end.index] += 1);
  }
  return most;
}

// The path when messages between hosts ask first.
Costs asking_costs(const Machine& machine, const AdapterModel& network) {
  Costs costs = fixed_costs(machine, network);
  costs.outer_way += network.rendezvous_time;
  return costs;
}

double chunks_per_message(const std::vector<Load>& loads) {
  double chunks = 0, messages = 0;
  for (const Load& load : loads) {
    chunks += load.outer_out;
    messages += load.outer_messages;
  }
  return messages > 0 ? chunks / messages : 1;
}

RoundPrice walk_lanes(const std::vector<Lane>& lanes, const Shape& shape, const Machine& machine,
                      const AdapterModel& network) {
  RoundPrice round;
  const Links links(lanes);
  const auto path = [&](const Costs& costs) {
    Walk walk(lanes, links, shape, machine, costs);
    const double seconds = walk.run();
    round.looks += walk.looks();
    return seconds;
  };
  round.path = {path(fixed_costs(machine, network)), path(byte_costs(machine, network))};
  const std::vector<Load> loads = loads_of(lanes, shape, machine);
  set_loads(round, loads, shape, machine, network);
  if (network.stream_bandwidth > 0)
    round.stream.per_byte =
        most_on_a_pipe(lanes, shape, machine) * inverse(network.stream_bandwidth);
  if (network.rendezvous_time > 0 && network.eager_bytes != topology::kAnyBytes)
    round.asking = path(asking_costs(machine, network)) - round.path.fixed;
  round.chunks_per_message = chunks_per_message(loads);
  round.eager_bytes = network.eager_bytes;
  return round;
}

std::vector<Lane> only_first_piece(std::vector<Lane> lanes) {
  for (Lane& lane : lanes) std::erase_if(lane, [](const Move& move) { return move.piece != 0; });
  return lanes;
}

RoundPrice walk_all(const collectives::Algorithm& algorithm, Shape shape, const Machine& machine,
                    const AdapterModel& network) {
  shape.channels = 1;
  std::vector<Lane> lanes;
  for (int rank = 0; rank < shape.ranks; ++rank) lanes.push_back(algorithm.lane(shape, rank, 0));
  RoundPrice round = walk_lanes(lanes, shape, machine, network);
  round.pieces = algorithm.pieces(shape);
  round.parts = algorithm.parts(shape);
  const RoundPrice one = walk_lanes(only_first_piece(std::move(lanes)), shape, machine, network);
  round.path_of_one = one.path.fixed;
  round.rank_of_one = one.rank.fixed;
  round.host_of_one = one.host.fixed;
  round.adapters_of_one = one.adapters.fixed;
  round.asking_of_one = one.asking;
  round.looks += one.looks;
  return round;
}

double beyond(double half, double whole, double steps) { return whole + (whole - half) * steps; }

Line beyond(const Line& half, const Line& whole, double steps) {
  return {beyond(half.fixed, whole.fixed, steps), beyond(half.per_byte, whole.per_byte, steps)};
}

}  // namespace

RoundPrice price_round(const collectives::Algorithm& algorithm, const Shape& shape,
                       const Machine& machine, const AdapterModel& network) {
  // A walk keeps a pipe of some hundred bytes for every pair of ranks that one-shot joins, and the
  // first operation of a size waits for the walks of all candidates.
  constexpr double kMostEnds = 5e5;
  Shape one = shape;
  one.channels = 1;
  const int unit = std::max(shape.ranks_per_host, 1);
  const int half_units = std::max(2, 128 / unit);
  if (shape.ranks <= 2 * half_units * unit ||
      collectives::extent_of(algorithm, one).ends <= kMostEnds)
    return walk_all(algorithm, shape, machine, network);
  Shape smaller = one;
  smaller.root = 0;
  smaller.ranks = half_units * unit;
  const RoundPrice half = walk_all(algorithm, smaller, machine, network);
  smaller.ranks *= 2;
  const RoundPrice whole = walk_all(algorithm, smaller, machine, network);
  const double steps = static_cast<double>(shape.ranks - smaller.ranks) /
                       static_cast<double>(smaller.ranks - half_units * unit);
  RoundPrice round = whole;  // pieces and parts may grow with the ranks, and are set below
  round.looks += half.looks;
  const auto go_on = [&](auto member) {
    round.*member = beyond(half.*member, whole.*member, steps);
  };
  for (const auto line : {&RoundPrice::path, &RoundPrice::rank, &RoundPrice::inner,
                          &RoundPrice::host, &RoundPrice::adapters, &RoundPrice::stream})
    go_on(line);
  for (const auto fixed :
       {&RoundPrice::path_of_one, &RoundPrice::rank_of_one, &RoundPrice::host_of_one,
        &RoundPrice::adapters_of_one, &RoundPrice::asking, &RoundPrice::asking_of_one})
    go_on(fixed);
  round.pieces = algorithm.pieces(one);
  round.parts = algorithm.parts(one);
  return round;
}

double price(const RoundPrice& round, const Cut& cut, const Machine& machine) {
  const std::size_t pieces =
      static_cast<std::size_t>(round.pieces) * static_cast<std::size_t>(cut.channels);
  const auto rounds = collectives::cut_into_rounds(
      cut.block_bytes, 1, pieces, collectives::chunk_limit(cut.message_bytes, round.parts));
  if (rounds.rounds == 0) return machine.software.start_time;
  // A short message has nothing in most pieces, the last ones, and their moves are skipped.
  const std::size_t filled = std::min(pieces, cut.block_bytes / collectives::kPieceAlign + 1);
  const double chunk =
      static_cast<double>(cut.block_bytes) / static_cast<double>(rounds.rounds * filled);
  const auto in_channel = static_cast<double>(round.pieces);
  const auto at = [&](const Line& line, double of_one, double some) {
    if (some >= in_channel) return line.at(chunk) * some / in_channel;
    const double share = in_channel > 1 ? (some - 1) / (in_channel - 1) : 0;
    return of_one + (line.fixed - of_one) * share + line.per_byte * chunk * some / in_channel;
  };
  // Channels go on side by side, but those of a rank share its processor and its links.
  const auto all = static_cast<double>(filled);
  const double in_one = std::min(all, in_channel);
  const double busiest =
      std::max({at(round.rank, round.rank_of_one, all), at(round.host, round.host_of_one, all),
                at(round.inner, 0, all), at(round.adapters, round.adapters_of_one, all),
                at(round.stream, 0, in_one)});  // each channel has pipes of its own
  double path = at(round.path, round.path_of_one, in_one);
  if (chunk * round.chunks_per_message > static_cast<double>(round.eager_bytes))
    path += at({round.asking, 0}, round.asking_of_one, in_one);
  const double first = std::max(path, busiest);
  return machine.software.start_time + first + static_cast<double>(rounds.rounds - 1) * busiest;
}

}  // namespace heddle::tuner
