#include "executor/host/execution.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "device/reduce.hpp"

namespace heddle::executor {

using collectives::Chunk;
using collectives::chunk_of;
using collectives::cut_into_rounds;
using collectives::Rounds;
using Where = collectives::End::Where;

namespace {

bool is_in_place(const Buffers& buffers, const Plan& plan, std::size_t element_bytes) {
  const collectives::Shape& shape = plan.shape();
  const std::size_t block = buffers.count * element_bytes;
  for (int o = 0; o < output_blocks(shape, plan.rank()); ++o) {
    const int i = base::input_in_place(shape.collective, plan.rank(), shape.root, o);
    if (i < 0) continue;
    const auto output = static_cast<std::size_t>(o);
    const auto input = static_cast<std::size_t>(i);
    if (buffers.blocks != nullptr)
      return buffers.blocks->outputs[output].data == buffers.blocks->inputs[input].data;
    return buffers.output + output * block == buffers.input + input * block;
  }
  return false;
}

std::size_t output_bytes(const Buffers& buffers, const Plan& plan, std::size_t element_bytes) {
  std::size_t elements = 0;
  if (buffers.blocks == nullptr)
    elements = static_cast<std::size_t>(output_blocks(plan.shape(), plan.rank())) * buffers.count;
  else
    for (const Block& block : buffers.blocks->outputs) elements += block.count;
  return elements * element_bytes;
}

// The peer of a send or a receive; null for a copy.
const PlannedEnd* peer_of(const PlannedLane& lane, const PlannedMove& move) {
  const PlannedEnd* const ends = lane.ends.data() + move.first_end;
  for (std::uint32_t i = 0; i < move.sources + move.destinations; ++i)
    if (ends[i].where == Where::peer) return ends + i;
  return nullptr;
}

}  // namespace

Execution::Execution(const Plan& plan)
    : plan_(plan), signatures_(plan), last_tickets_(plan.needs().size()) {
  HEDDLE_ASSERT(plan.bound(), "rank {}", plan.rank());
  std::size_t sources = 0, destinations = 0, ends = 0;
  for (const PlannedLane& lane : plan.lanes()) {
    sources += lane.most_sources;
    destinations += 2 * lane.most_destinations;
    ends += lane.ends.size();
  }
  sources_.resize(sources);
  destinations_.resize(destinations);
  tickets_.resize(ends);
  sources = destinations = ends = 0;
  for (const PlannedLane& lane : plan.lanes()) {
    LaneState state{};
    state.plan = &lane;
    state.finished = true;
    state.from = sources_.data() + sources;
    state.into = destinations_.data() + destinations;
    state.slots = state.into + lane.most_destinations;
    state.tickets = tickets_.data() + ends;
    lanes_.push_back(state);
    sources += lane.most_sources;
    destinations += 2 * lane.most_destinations;
    ends += lane.ends.size();
  }
}

void Execution::reset(const Buffers& buffers) {
  // The divisions cost as much as the rest of a small operation, and most repeat the one before.
  if (buffers.count != buffers_.count || buffers.type != buffers_.type) {
    element_bytes_ = base::size_of(buffers.type);
    HEDDLE_ASSERT(element_bytes_ != 0, "type {}", static_cast<int>(buffers.type));
    cut_ = cut_into_rounds(buffers.count, element_bytes_, plan_.pieces(), plan_.chunk_bytes());
  }
  buffers_ = buffers;
  if (buffers.blocks == nullptr)
    signatures_.reset(buffers, element_bytes_, cut_);
  else
    signatures_.reset(buffers, element_bytes_);
  rounds_ = most_rounds();
  in_place_ = is_in_place(buffers, plan_, element_bytes_);
  streaming_ = output_bytes(buffers, plan_, element_bytes_) > kStreamingBytes;
  if (tickets_out_) std::fill(last_tickets_.begin(), last_tickets_.end(), std::nullopt);
  tickets_out_ = false;
  unfinished_ = lanes_.size();
  for (LaneState& lane : lanes_) {
    lane.finished = false;
    lane.round = 0;
    lane.move = 0;
    enter(lane);
  }
}

Execution::State Execution::advance() {
  bool moved = signatures_.pending() && signatures_.advance();
  for (LaneState& lane : lanes_) {
    if (!lane.finished && run(lane)) moved = true;
  }
  if (unfinished_ == 0 && !signatures_.pending() && all_sent()) return State::done;
  return moved ? State::moved : State::blocked;
}

std::size_t Execution::most_rounds() const {
  if (buffers_.blocks == nullptr) return cut_.rounds;
  std::size_t longest = 0;
  for (const auto* blocks : {&buffers_.blocks->inputs, &buffers_.blocks->outputs})
    for (const Block& block : *blocks) longest = std::max(longest, block.count);
  return cut_into_rounds(longest, element_bytes_, plan_.pieces(), plan_.chunk_bytes()).rounds;
}

// Elements of the block that the lane's move is about.
std::size_t Execution::block_count(const LaneState& lane) const {
  if (buffers_.blocks == nullptr) return buffers_.count;
  const PlannedMove& move = lane.plan->moves[lane.move];
  HEDDLE_ASSERT(move.local != kNoEnd, "move {} has no block", lane.move);
  const PlannedEnd& end = lane.plan->ends[move.local];
  const auto& blocks =
      end.where == Where::input ? buffers_.blocks->inputs : buffers_.blocks->outputs;
  return blocks[static_cast<std::size_t>(end.index)].count;
}

// A block of its own length is cut for itself, so that only the ranks that move it need to know the
// length.
Rounds Execution::cut_at(const LaneState& lane) const {
  if (buffers_.blocks == nullptr) return cut_;
  return cut_into_rounds(block_count(lane), element_bytes_, plan_.pieces(), plan_.chunk_bytes());
}

// Empty where the block is too short to reach this piece of this round.
Chunk Execution::chunk_at(const LaneState& lane) const {
  const PlannedMove& move = lane.plan->moves[lane.move];
  const Rounds cut = cut_at(lane);
  return lane.round < cut.rounds ? chunk_of(cut, block_count(lane), lane.round, move.piece)
                                 : Chunk{0, 0};
}

// Makes the lane's position the first one, from where it stands, with something to move or, of
// sends and receives, to compare.
void Execution::enter(LaneState& lane) {
  const auto moves = static_cast<std::uint32_t>(lane.plan->moves.size());
  lane.ready = lane.written = lane.deferred = lane.sending = 0;
  lane.reduced = lane.unannounced = false;
  if (lane.plan->in_sequence) {
    for (; lane.move < moves; ++lane.move, lane.round = 0) {
      lane.chunk = lane.round < rounds_ ? chunk_at(lane) : Chunk{0, 0};
      const PlannedEnd* const peer = peer_of(*lane.plan, lane.plan->moves[lane.move]);
      lane.unannounced = lane.round == 0 && peer != nullptr &&
                         signatures_.wanted(peer->need, block_count(lane) * element_bytes_);
      if (lane.chunk.count != 0 || lane.unannounced) return;
    }
  } else {
    for (; lane.round < rounds_; ++lane.round, lane.move = 0) {
      for (; lane.move < moves; ++lane.move) {
        lane.chunk = chunk_at(lane);
        if (lane.chunk.count != 0) return;
      }
    }
  }
  lane.finished = true;
  --unfinished_;
}

// The position after a move that was run.
void Execution::leave(LaneState& lane) const {
  if (lane.plan->in_sequence)
    ++lane.round;
  else
    ++lane.move;
}

bool Execution::run(LaneState& lane) {
  std::size_t bytes = 0;
  bool moved = false;
  while (!lane.finished && bytes < kTurnBytes) {
    if (lane.unannounced) {
      if (!announce(lane, lane.plan->moves[lane.move])) return moved;
      moved = true;
    }
    const std::uint32_t before = lane.ready + lane.sending + lane.reduced;
    // A send or receive of nothing is over when it was compared.
    if (lane.chunk.count != 0 && !run_move(lane, lane.plan->moves[lane.move])) {
      return moved || lane.ready + lane.sending + lane.reduced != before;
    }
    moved = true;
    bytes += lane.chunk.count * element_bytes_;
    leave(lane);
    enter(lane);
  }
  return moved;
}

bool Execution::announce(LaneState& lane, const PlannedMove& move) {
  const std::size_t bytes = block_count(lane) * element_bytes_;
  if (!signatures_.compare(peer_of(*lane.plan, move)->need, bytes)) return false;
  lane.unannounced = false;
  return true;
}

bool Execution::run_move(LaneState& lane, const PlannedMove& move) {
  if (!lane.reduced) {
    if (!gather(lane, move)) return false;
    reduce(lane, move);
    hand_over(lane, move);
    lane.reduced = true;
  }
  return lane.deferred == 0 || send_in_place(lane, move);
}

// Finds every end of the move, starting after those found by earlier calls. What was peeked or
// acquired stays so, and no other lane uses the pipe.
bool Execution::gather(LaneState& lane, const PlannedMove& move) {
  const PlannedEnd* ends = lane.plan->ends.data() + move.first_end;
  const std::size_t bytes = lane.chunk.count * element_bytes_;
  const std::uint32_t to = move.sources + move.destinations;
  for (; lane.ready < move.sources; ++lane.ready) {
    const PlannedEnd& end = ends[lane.ready];
    if (end.where != Where::peer) {
      lane.from[lane.ready] = local_chunk(end, lane.chunk);
      continue;
    }
    if (signatures_.pending(end.need)) return false;
    const std::byte* message = end.from->peek(bytes * end.parts);
    if (message == nullptr) return false;
    signatures_.expect_data(end.need, message, bytes * end.parts);
    lane.from[lane.ready] = message + bytes * end.part;
  }
  for (; lane.ready < to; ++lane.ready) {
    const PlannedEnd& end = ends[lane.ready];
    std::byte*& slot = lane.slots[lane.ready - move.sources];
    if (end.where != Where::peer) {
      slot = output_chunk(end, lane.chunk);
      // In place, the copy of a chunk onto itself.
      const bool changes = divides(move) || scaled_source(lane, move) >= 0;
      if (slot == lane.from[0] && move.sources == 1 && !changes) continue;
    } else if (signatures_.pending(end.need)) {
      return false;
    } else if (may_send_in_place(lane, move, end) && end.to->sends_in_place(bytes)) {
      slot = nullptr;
      ++lane.deferred;
      continue;
    } else {
      slot = end.to->acquire(bytes * end.parts);
      if (slot == nullptr) return false;
      slot += bytes * end.part;
    }
    lane.into[lane.written++] = slot;
  }
  for (; lane.ready < to + move.hazards; ++lane.ready) {
    const Hazard& hazard = lane.plan->hazards[move.first_hazard + lane.ready - to];
    if (!hazard_passed(lane, hazard)) return false;
  }
  return true;
}

bool Execution::hazard_passed(LaneState& lane, const Hazard& hazard) {
  if (hazard.only_in_place && !in_place_) return true;
  std::optional<std::uint64_t>& ticket = lane.tickets[hazard.end];
  if (ticket && !lane.plan->ends[hazard.end].to->sent(*ticket)) return false;
  ticket.reset();
  return true;
}

void Execution::reduce(LaneState& lane, const PlannedMove& move) {
  if (lane.written == 0) return;
  device::reduce(
      {.sources = {lane.from, move.sources},
       .destinations = {lane.into, lane.written},
       .count = lane.chunk.count,
       .type = buffers_.type,
       .op = buffers_.op,
       .divide_by = divides(move) ? plan_.shape().ranks : 1,
       .streaming = streaming_ || lane.chunk.count * element_bytes_ >= kLeastStreamedBytes
                        ? streaming_mask(lane, move)
                        : 0,
       .scale = buffers_.scale,
       .scaled_source = scaled_source(lane, move)});
}

bool Execution::is_input(std::uint32_t end, const LaneState& lane) const {
  return lane.plan->ends[end].where == Where::input;
}

// The source that is multiplied as it is read, or -1: the input wherever it is read, so that what
// is sent or kept has been, once. A reducing move has one at most: a second would be the rank's
// contribution again.
int Execution::scaled_source(const LaneState& lane, const PlannedMove& move) const {
  if (buffers_.scale == nullptr) return -1;
  for (std::uint32_t i = 0; i < move.sources; ++i)
    if (is_input(move.first_end + i, lane)) return static_cast<int>(i);
  return -1;
}

bool Execution::may_send_in_place(const LaneState& lane, const PlannedMove& move,
                                  const PlannedEnd& end) const {
  return end.may_send_in_place && (buffers_.scale == nullptr || !is_input(move.stage, lane));
}

bool Execution::divides(const PlannedMove& move) const {
  return move.completes && buffers_.op == heddleAvg && plan_.shape().ranks > 1;
}

// Slots whose pipe wants it so, and outputs that nobody reads soon: not a later move, not the
// network, and not this very move, which brought the lines into the cache if it reads them.
unsigned Execution::streaming_mask(const LaneState& lane, const PlannedMove& move) const {
  const std::size_t bytes = lane.chunk.count * element_bytes_;
  const std::uint32_t first = move.first_end + move.sources;
  unsigned mask = 0;
  std::uint32_t index = 0;  // in lane.into
  for (std::uint32_t i = 0; i < move.destinations && index < lane.written && index < 32; ++i) {
    const std::byte* slot = lane.slots[i];
    if (slot != lane.into[index]) continue;
    const PlannedEnd& end = lane.plan->ends[first + i];
    if (end.where == Where::peer && end.parts == 1 && end.to->streams(bytes)) mask |= 1U << index;
    const bool sent = lane.deferred != 0 && first + i == move.stage;
    const bool read =
        std::find(lane.from, lane.from + move.sources, slot) != lane.from + move.sources;
    if (streaming_ && end.where == Where::output && end.last_use && !sent && !read)
      mask |= 1U << index;
    ++index;
  }
  return mask;
}

// Commits first: somebody waits for the data, while free slots are a matter of luck.
void Execution::hand_over(LaneState& lane, const PlannedMove& move) {
  const PlannedEnd* ends = lane.plan->ends.data() + move.first_end;
  const std::size_t bytes = lane.chunk.count * element_bytes_;
  for (std::uint32_t i = 0; i < move.destinations; ++i) {
    const PlannedEnd& end = ends[move.sources + i];
    if (end.where != Where::peer || lane.slots[i] == nullptr) continue;
    if (end.part + 1 < end.parts) continue;
    end.to->commit(bytes * end.parts);
    lane.tickets[move.first_end + move.sources + i].reset();
  }
  for (std::uint32_t i = 0; i < move.sources; ++i) {
    if (ends[i].where == Where::peer && ends[i].part + 1 == ends[i].parts) ends[i].from->release();
  }
}

// The output chunk, or the lone local source, is sent from where it lies. It must not change until
// the ticket is through: schedules write an output chunk once, and where a later move does write
// memory that was sent from (in place, a result over an input), its hazards make it wait.
bool Execution::send_in_place(LaneState& lane, const PlannedMove& move) {
  const std::byte* data = local_chunk(lane.plan->ends[move.stage], lane.chunk);
  const std::size_t bytes = lane.chunk.count * element_bytes_;
  for (; lane.sending < move.destinations; ++lane.sending) {
    const std::uint32_t at = move.first_end + move.sources + lane.sending;
    const PlannedEnd& end = lane.plan->ends[at];
    if (lane.slots[lane.sending] != nullptr) continue;
    const std::optional<std::uint64_t> ticket = end.to->send_from(data, bytes);
    lane.tickets[at] = ticket;
    if (ticket) {
      last_tickets_[end.need] = ticket;
      tickets_out_ = true;
      continue;
    }
    std::byte* slot = end.to->acquire(bytes);
    if (slot == nullptr) return false;
    device::reduce({.sources = {&data, 1},
                    .destinations = {&slot, 1},
                    .count = lane.chunk.count,
                    .type = buffers_.type,
                    .op = buffers_.op});
    end.to->commit(bytes);
  }
  return true;
}

// Tickets of a pipe come through in order, so that the newest stands for all. What is copied into a
// slot may also need us until it has left: nobody drives the transport between operations.
bool Execution::all_sent() {
  for (std::size_t need = 0; need < last_tickets_.size(); ++need)
    if (auto* pipe = plan_.send_pipe(need); pipe != nullptr && !pipe->flushed()) return false;
  if (!tickets_out_) return true;
  for (std::size_t need = 0; need < last_tickets_.size(); ++need) {
    if (!last_tickets_[need]) continue;
    if (!plan_.send_pipe(need)->sent(*last_tickets_[need])) return false;
    last_tickets_[need].reset();
  }
  tickets_out_ = false;
  return true;
}

std::byte* Execution::output_chunk(const PlannedEnd& end, const Chunk& chunk) const {
  const auto index = static_cast<std::size_t>(end.index);
  if (buffers_.blocks != nullptr)
    return buffers_.blocks->outputs[index].data + chunk.offset * element_bytes_;
  return buffers_.output + (index * buffers_.count + chunk.offset) * element_bytes_;
}

const std::byte* Execution::local_chunk(const PlannedEnd& end, const Chunk& chunk) const {
  if (end.where == Where::output) return output_chunk(end, chunk);
  const auto index = static_cast<std::size_t>(end.index);
  if (buffers_.blocks != nullptr)
    return buffers_.blocks->inputs[index].data + chunk.offset * element_bytes_;
  return buffers_.input + (index * buffers_.count + chunk.offset) * element_bytes_;
}

Execution::Wait Execution::wait() const {
  for (const LaneState& lane : lanes_) {
    if (lane.finished) continue;
    const PlannedMove& move = lane.plan->moves[lane.move];
    const std::uint32_t to = move.sources + move.destinations;
    const PlannedEnd* ends = lane.plan->ends.data();
    const int channel = lane.plan->channel;
    if (lane.unannounced) {
      const PlannedEnd* const peer = peer_of(*lane.plan, move);
      return {peer->from != nullptr ? "the length of data from" : "a free slot to", peer->index,
              channel, &lane};
    }
    if (lane.reduced) {
      return {"a free slot to", ends[move.first_end + move.sources + lane.sending].index, channel,
              &lane};
    }
    if (lane.ready >= to) {
      const Hazard& hazard = lane.plan->hazards[move.first_hazard + lane.ready - to];
      return {"the end of an earlier send to", ends[hazard.end].index, channel, &lane};
    }
    const PlannedEnd& end = ends[move.first_end + lane.ready];
    if (end.where != Where::peer) return {"its turn", -1, channel, &lane};
    if (lane.ready >= move.sources) return {"a free slot to", end.index, channel, &lane};
    return {signatures_.pending(end.need) ? "the same call from" : "data from", end.index, channel,
            &lane};
  }
  if (signatures_.pending())
    return {"the same call from", signatures_.waiting_on_rank(), -1, nullptr};
  for (std::size_t need = 0; need < last_tickets_.size(); ++need) {
    auto* const to = plan_.send_pipe(need);
    if (!last_tickets_[need] && (to == nullptr || to->flushed())) continue;
    const PipeNeed& pipe = plan_.needs()[need];
    return {"the last send to", pipe.peer, pipe.channel, nullptr};
  }
  return {"nothing", -1, -1, nullptr};
}

std::string Execution::waiting_for() const {
  const Wait wait = this->wait();
  std::string text(wait.what);
  if (wait.rank >= 0) text += fmt::format(" rank {}", wait.rank);
  if (wait.channel >= 0) text += fmt::format(" on channel {}", wait.channel);
  if (wait.lane != nullptr) {
    text += fmt::format(", round {} of {}, move {}", wait.lane->round + 1,
                        std::max(cut_at(*wait.lane).rounds, std::size_t{1}), wait.lane->move + 1);
  }
  return text;
}

int Execution::waiting_on_rank() const { return wait().rank; }

}  // namespace heddle::executor
