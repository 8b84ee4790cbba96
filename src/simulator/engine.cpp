#include "simulator/engine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "collectives/rounds.hpp"
#include "simulator/event_queue.hpp"
#include "simulator/network.hpp"
#include "simulator/pipe_array.hpp"

namespace heddle::simulator {
namespace {

constexpr Time kUnknown = std::numeric_limits<Time>::max();
// Marks the events of stripes among those of lanes.
constexpr std::uint32_t kStripe = 1U << 31;

// Things that come and go, by number.
template <typename Thing>
class Pool {
 public:
  std::uint32_t add(const Thing& thing) {
    if (free_.empty()) {
      things_.push_back(thing);
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    things_[index] = thing;
    return index;
  }
  void remove(std::uint32_t index) { free_.push_back(index); }
  Thing& operator[](std::uint32_t index) { return things_[index]; }

 private:
  std::vector<Thing> things_;
  std::vector<std::uint32_t> free_;
};

class Engine {
 public:
  Engine(const Job& job, Trace* trace);
  Result run();

 private:
  struct Lane {
    std::uint64_t next = 0;        // index into CompactLanes::moves
    Time free = 0;                 // when its last move was done
    Time begin = 0;                // of the next move, by its peers known so far
    std::uint32_t next_peers = 0;  // its first_peer
    std::uint32_t round = 0;
    int known = 0;  // peers of the next move whose times are known
    bool done = false;
  };
  struct Pipe {
    std::uint32_t from, to;  // lanes
    std::uint32_t writes = 0, reads = 0;
    double open_bytes = 0;  // of the message that is being written in parts
    bool between_hosts = false;
    bool writing = false;  // amid a message of several parts
    bool writer_waits = false, reader_waits = false;
  };
  // The k-th message of a pipe uses slot k mod slots.
  struct Slot {
    Time readable = kUnknown;  // when its message is there, once that is decided
    Time writable = 0;         // when it is free, once that is decided
  };
  // Between hosts, until the last of its stripes is there.
  struct Message {
    std::uint32_t pipe = 0;
    std::uint32_t slot = 0;
    int stripes = 0;
    Time arrival = 0;
  };
  struct Stripe {
    Network::Flight flight;
    std::uint32_t message = 0;
  };

  int rank_of(std::uint32_t lane) const { return static_cast<int>(lane) / job_.channels; }
  int channel_of(std::uint32_t lane) const { return static_cast<int>(lane) % job_.channels; }
  Pipe& pipe(std::uint32_t index) { return pipes_.pipe(index); }
  Slot& slot(std::uint32_t index, std::size_t number) { return pipes_.slots(index)[number]; }
  Slot& slot_to_read(std::uint32_t index) { return slot(index, pipe(index).reads % slots_); }
  Slot& slot_to_write(std::uint32_t index) { return slot(index, pipe(index).writes % slots_); }
  std::size_t bytes_of(const CompactMove& move, std::uint32_t round) const {
    return piece_bytes_[(round + 1 == cut_.rounds ? 1 : 0) * pieces_ + move.piece];
  }

  void cut();
  const CompactMove* next_move(std::uint32_t lane);
  void advance(std::uint32_t lane);
  void run_move(std::uint32_t lane, Time now);
  Server* free_core(int rank);
  Time work_until(std::uint32_t lane, const CompactMove& move, double bytes, Time now);
  void release_sources(const CompactMove& move, Time end);
  void write(CompactPeer peer, double bytes, Time end, Time& lane_free);
  void launch(std::uint32_t index, std::uint32_t number, double bytes, Time at);
  void step_stripe(std::uint32_t index, Time now);
  void deliver(std::uint32_t index, std::uint32_t number, Time at);
  void look_ahead() const;
  void prefetch_next_move(std::uint32_t lane) const;
  void prefetch_woken(const CompactMove& move);
  [[noreturn]] void stuck() const;

  const Job& job_;
  Trace* trace_;
  CompactLanes lanes_;
  Network network_;
  std::size_t slots_;
  std::size_t pieces_;
  collectives::Rounds cut_{};
  std::vector<std::size_t> piece_bytes_;  // of a full round, then of the last
  LargeArray<Lane> state_;
  PipeArray<Pipe, Slot> pipes_;
  std::vector<Server> streams_;  // of the pipes, where they have a bandwidth of their own
  std::vector<Server> rank_;
  std::vector<Server> cores_;  // of every host, where its ranks share fewer than they are
  Pool<Message> messages_;
  Pool<Stripe> stripes_;
  EventQueue queue_;
  Rate copy_, reduce_, lane_rate_;
  Time move_time_;
  double per_wire_byte_;
  std::size_t lanes_done_ = 0;
  Result result_;
};

Engine::Engine(const Job& job, Trace* trace)
    : job_(job),
      trace_(trace),
      lanes_(compact(job.lanes, job.ranks, job.channels)),
      network_({job.machine, job.adapters, job.ranks, job.protocol}),
      slots_(static_cast<std::size_t>(job.machine.software.slots)),
      pieces_(static_cast<std::size_t>(job.pieces)),
      state_(static_cast<std::size_t>(job.ranks) * static_cast<std::size_t>(job.channels)),
      pipes_(lanes_.pipes.size(), slots_),
      streams_(network_.has_streams() ? lanes_.pipes.size() : 0),
      rank_(static_cast<std::size_t>(job.ranks)),
      copy_(job.machine.rank.copy_bandwidth),
      reduce_(job.machine.rank.reduce_bandwidth),
      lane_rate_(job.machine.rank.lane_bandwidth),
      move_time_(from_seconds(job.machine.rank.move_time + job.protocol.move_time)),
      per_wire_byte_(1 / job.protocol.wire_efficiency) {
  for (std::uint32_t i = 0; i < lanes_.pipes.size(); ++i) {
    const PipeEnds& ends = lanes_.pipes[i];
    pipe(i).from = ends.from;
    pipe(i).to = ends.to;
    pipe(i).between_hosts = !network_.same_host(rank_of(ends.from), rank_of(ends.to));
  }
  if (job.machine.cores > 0 && job.machine.cores < job.machine.ranks_per_host)
    cores_.resize(static_cast<std::size_t>(job.machine.hosts) *
                  static_cast<std::size_t>(job.machine.cores));
  cut();
}

void Engine::cut() {
  cut_ = collectives::cut_into_rounds(
      job_.count, job_.element_bytes, pieces_,
      collectives::chunk_limit(job_.machine.software.slot_bytes, job_.parts));
  piece_bytes_.resize(2 * pieces_);
  if (cut_.rounds == 0) return;
  for (std::size_t piece = 0; piece < pieces_; ++piece) {
    piece_bytes_[piece] =
        collectives::chunk_of(cut_, job_.count, 0, piece).count * job_.element_bytes;
    piece_bytes_[pieces_ + piece] =
        collectives::chunk_of(cut_, job_.count, cut_.rounds - 1, piece).count * job_.element_bytes;
  }
}

// Skips what is empty, as every rank does; null at the end.
const CompactMove* Engine::next_move(std::uint32_t lane) {
  Lane& state = state_[lane];
  for (; state.round < cut_.rounds; ++state.round) {
    const std::uint64_t end = lanes_.first_move[lane + 1];
    for (; state.next < end; ++state.next) {
      const CompactMove& move = lanes_.moves[state.next];
      if (bytes_of(move, state.round) > 0) return &move;
    }
    state.next = lanes_.first_move[lane];
  }
  return nullptr;
}

void Engine::advance(std::uint32_t lane) {
  Lane& state = state_[lane];
  const CompactMove* move = next_move(lane);
  if (move == nullptr) {
    state.done = true;
    ++lanes_done_;
    return;
  }
  // What is known already is not asked for again: a move of many sources wakes for each of them.
  const CompactPeer* const peers = lanes_.peers.data() + move->first_peer;
  state.next_peers = move->first_peer;
  for (; state.known < move->peer_sources; ++state.known) {
    const std::uint32_t from = peers[state.known].pipe;
    const Time at = slot_to_read(from).readable;
    if (at == kUnknown) {
      pipe(from).reader_waits = true;
      return;
    }
    state.begin = std::max(state.begin, at);
  }
  for (; state.known < move->peer_sources + move->peer_destinations; ++state.known) {
    const std::uint32_t to = peers[state.known].pipe;
    if (pipe(to).writing) continue;
    const Time at = slot_to_write(to).writable;
    if (at == kUnknown) {
      pipe(to).writer_waits = true;
      return;
    }
    state.begin = std::max(state.begin, at);
  }
  queue_.add(std::max(state.begin, state.free), lane);
  state.known = 0;
  state.begin = 0;
}

// The core of the rank's host that is free first, where ranks have to share them.
Server* Engine::free_core(int rank) {
  if (cores_.empty()) return nullptr;
  const auto cores = static_cast<std::ptrdiff_t>(job_.machine.cores);
  const auto first = cores_.begin() + cores * (rank / job_.machine.ranks_per_host);
  return &*std::min_element(first, first + cores,
                            [](const Server& a, const Server& b) { return a.free < b.free; });
}

// When the move's data is through the rank and, inside the host, in the receivers' slots.
Time Engine::work_until(std::uint32_t lane, const CompactMove& move, double bytes, Time now) {
  const double wire = bytes * per_wire_byte_;
  const int sources = move.peer_sources + move.local_sources;
  int written = move.local_destinations;
  const CompactPeer* peer = lanes_.peers.data() + move.first_peer + move.peer_sources;
  const bool in_place = move.peer_sources == 0 && sources == 1 &&
                        bytes >= static_cast<double>(job_.machine.software.in_place_bytes);
  for (int i = 0; i < move.peer_destinations; ++i)
    if (!(in_place && pipe(peer[i].pipe).between_hosts)) ++written;
  const bool parallel = job_.machine.rank.parallel_channels;
  const Time busy =
      (parallel ? 0 : move_time_) + reduce_.of(bytes * (sources - 1)) + copy_.of(wire * written);
  Server& rank = rank_[static_cast<std::size_t>(rank_of(lane))];
  Time begin = std::max(now + (parallel ? move_time_ : 0), rank.free);
  Server* const core = free_core(rank_of(lane));
  if (core != nullptr) begin = std::max(begin, core->free);
  Time end = begin + busy;
  if (core != nullptr) core->free = end;
  rank.free = end;
  end = std::max(end, now + move_time_ + (written > 0 ? lane_rate_.of(wire) : 0));
  for (int i = 0; i < move.peer_destinations; ++i) {
    const Pipe& to = pipe(peer[i].pipe);
    if (to.between_hosts) continue;
    end = std::max(
        end, network_.write_inside(rank_of(to.from), rank_of(to.to), channel_of(lane), wire, now));
  }
  return end;
}

void Engine::run_move(std::uint32_t lane, Time now) {
  Lane& state = state_[lane];
  const std::uint64_t index = state.next;
  const CompactMove& move = lanes_.moves[index];
  const std::size_t bytes = bytes_of(move, state.round);
  // Each is a cache miss in a large job: all of them at once.
  for (std::uint32_t i = 0; i < std::uint32_t{move.peer_sources} + move.peer_destinations; ++i)
    pipes_.prefetch(lanes_.peers[move.first_peer + i].pipe);
  prefetch_woken(move);
  const Time end = work_until(lane, move, static_cast<double>(bytes), now);
  if (trace_ != nullptr)
    trace_->moves.push_back({rank_of(lane), channel_of(lane),
                             static_cast<std::uint32_t>(index - lanes_.first_move[lane]),
                             state.round, move.piece, bytes, now, end});
  ++result_.moves;
  ++state.next;
  state.free = end;
  const std::uint32_t first = move.first_peer;
  release_sources(move, end);
  for (std::uint32_t i = first + move.peer_sources;
       i < first + move.peer_sources + move.peer_destinations; ++i)
    write(lanes_.peers[i], static_cast<double>(bytes) * per_wire_byte_, end, state.free);
  advance(lane);
}

void Engine::release_sources(const CompactMove& move, Time end) {
  for (std::uint32_t i = move.first_peer; i < move.first_peer + move.peer_sources; ++i) {
    const CompactPeer peer = lanes_.peers[i];
    if (peer.more) continue;
    Pipe& from = pipe(peer.pipe);
    const Time back = from.between_hosts ? network_.network_latency() : network_.inner_latency();
    slot_to_read(peer.pipe) = {.readable = kUnknown, .writable = end + back};
    ++from.reads;
    if (!from.writer_waits) continue;
    from.writer_waits = false;
    advance(from.from);
  }
}

void Engine::write(CompactPeer peer, double bytes, Time end, Time& lane_free) {
  Pipe& to = pipe(peer.pipe);
  if (!to.writing) slot_to_write(peer.pipe).writable = kUnknown;
  to.open_bytes += bytes;
  to.writing = peer.more != 0;
  if (to.writing) return;
  const double message = std::exchange(to.open_bytes, 0);
  const auto number = static_cast<std::uint32_t>(to.writes++ % slots_);
  if (to.between_hosts) {
    lane_free += network_.post_time();
    launch(peer.pipe, number, message, lane_free);
  } else {
    deliver(peer.pipe, number, end + network_.inner_latency());
  }
}

void Engine::launch(std::uint32_t index, std::uint32_t number, double bytes, Time at) {
  const Pipe& to = pipe(index);
  const int stripes = network_.stripes(bytes);
  const std::uint32_t message = messages_.add({index, number, stripes, 0});
  for (int i = 0; i < stripes; ++i) {
    Stripe stripe{network_.flight(rank_of(to.from), rank_of(to.to), channel_of(to.from), bytes, i),
                  message};
    if (network_.has_streams()) stripe.flight.stream = &streams_[index];
    queue_.add(at, kStripe | stripes_.add(stripe));
  }
  result_.stripes += static_cast<std::uint64_t>(stripes);
  result_.network_bytes += bytes;
}

void Engine::step_stripe(std::uint32_t index, Time now) {
  Stripe& stripe = stripes_[index];
  const Network::Step step = network_.advance(stripe.flight, now);
  if (trace_ != nullptr && step.rail)
    trace_->rails.push_back({step.rail_host, stripe.flight.adapter, step.sends, stripe.flight.from,
                             stripe.flight.to, stripe.flight.channel,
                             static_cast<std::uint64_t>(stripe.flight.bytes), step.rail_begin,
                             step.rail_end});
  if (!step.arrived) {
    queue_.add(step.at, kStripe | index);
    return;
  }
  const std::uint32_t message_index = stripe.message;
  stripes_.remove(index);
  Message& message = messages_[message_index];
  message.arrival = std::max(message.arrival, step.at);
  if (--message.stripes > 0) return;
  messages_.remove(message_index);
  deliver(message.pipe, message.slot, message.arrival);
}

void Engine::deliver(std::uint32_t index, std::uint32_t number, Time at) {
  slot(index, number).readable = at;
  Pipe& to = pipe(index);
  if (!to.reader_waits) return;
  to.reader_waits = false;
  advance(to.to);
}

void Engine::stuck() const {
  for (std::uint32_t lane = 0; lane < state_.size(); ++lane) {
    if (state_[lane].done) continue;
    base::fail(heddleInternalError,
               "simulation: rank {} waits for ever on channel {}, round {}, move {}; the schedule "
               "cannot run with {} slots",
               rank_of(lane), channel_of(lane), state_[lane].round,
               state_[lane].next - lanes_.first_move[lane], slots_);
  }
  base::fail(heddleInternalError, "simulation: no rank is left, but the job is not done");
}

void Engine::prefetch_next_move(std::uint32_t lane) const {
  const Lane& state = state_[lane];
  __builtin_prefetch(lanes_.moves.data() + state.next);
  __builtin_prefetch(lanes_.peers.data() + state.next_peers);
}

// The lanes that go on when this move is done: all of them at once, step by step.
void Engine::prefetch_woken(const CompactMove& move) {
  const auto each = [&](auto prefetch) {
    const CompactPeer* const peers = lanes_.peers.data() + move.first_peer;
    for (int i = 0; i < move.peer_sources + move.peer_destinations; ++i) {
      const Pipe& at = pipe(peers[i].pipe);
      if (i < move.peer_sources ? at.writer_waits : at.reader_waits)
        prefetch(i < move.peer_sources ? at.from : at.to);
    }
  };
  each([&](std::uint32_t lane) { __builtin_prefetch(&state_[lane], 1); });
  each([&](std::uint32_t lane) { prefetch_next_move(lane); });
}

// In a large job everything that an event needs is a cache miss, and most of it is known before.
void Engine::look_ahead() const {
  queue_.look_ahead(
      [&](std::uint32_t what) {
        if ((what & kStripe) == 0) prefetch_next_move(what);
      },
      [&](std::uint32_t what) {
        if ((what & kStripe) == 0) __builtin_prefetch(&state_[what], 1);
      });
}

Result Engine::run() {
  const auto lanes = static_cast<std::uint32_t>(state_.size());
  for (std::uint32_t lane = 0; lane < lanes; ++lane) state_[lane].next = lanes_.first_move[lane];
  for (std::uint32_t lane = 0; lane < lanes; ++lane) advance(lane);
  while (!queue_.empty()) {
    const Event event = queue_.take();
    look_ahead();
    ++result_.events;
    if ((event.what & kStripe) != 0)
      step_stripe(event.what & ~kStripe, event.time);
    else
      run_move(event.what, event.time);
  }
  if (lanes_done_ != state_.size()) stuck();
  Time last = 0;
  for (const Lane& lane : state_) last = std::max(last, lane.free);
  result_.seconds = job_.machine.software.start_time + to_seconds(last);
  return result_;
}

void check_job(const Job& job) {
  if (job.ranks < 1 || job.ranks > job.machine.ranks())
    base::fail(heddleInvalidArgument, "ranks: {} asked for; {} has {} hosts of {}", job.ranks,
               job.machine.name, job.machine.hosts, job.machine.ranks_per_host);
  if (job.channels < 1 || job.pieces < 1 || job.parts < 1)
    base::fail(heddleInvalidArgument,
               "channels, pieces and parts: {}, {} and {}; allowed: 1 and "
               "above",
               job.channels, job.pieces, job.parts);
}

}  // namespace

Job job_of(const topology::Machine& machine, const collectives::Algorithm& algorithm,
           const collectives::Shape& shape, std::size_t count, std::size_t element_bytes) {
  HEDDLE_ASSERT(collectives::can_do(algorithm, shape), "{} of {} ranks", algorithm.name,
                shape.ranks);
  return {.machine = machine,
          .ranks = shape.ranks,
          .channels = shape.channels,
          .pieces = algorithm.pieces(shape),
          .parts = algorithm.parts(shape),
          .lanes = [lane = algorithm.lane, shape](
                       int rank, int channel) { return lane(shape, rank, channel); },
          .count = count,
          .element_bytes = element_bytes};
}

Result simulate(const Job& job, Trace* trace) {
  check_job(job);
  return Engine(job, trace).run();
}

}  // namespace heddle::simulator
