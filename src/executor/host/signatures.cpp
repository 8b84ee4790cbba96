#include "executor/host/signatures.hpp"

#include <cstring>

#include "base/error.hpp"
#include "executor/host/execution.hpp"

namespace heddle::executor {
namespace {

using Where = collectives::End::Where;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = (hash ^ value) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

std::size_t length_of(const PlannedLane& lane, const PlannedMove& move, const Blocks& blocks) {
  const PlannedEnd& end = lane.ends[move.local];
  const auto& list = end.where == Where::input ? blocks.inputs : blocks.outputs;
  return list[static_cast<std::size_t>(end.index)].count;
}

}  // namespace

void Signatures::reset(const Buffers& buffers, std::size_t element_bytes) {
  pending_ = 0;
  if (buffers.blocks == nullptr) return;
  pipes_.assign(pipes_.size(), {});
  for (const PlannedLane& lane : plan_.lanes()) {
    if (lane.in_sequence) continue;
    for (const PlannedMove& move : lane.moves)
      for (std::uint32_t i = 0; i < move.sources + move.destinations; ++i) {
        const PlannedEnd& end = lane.ends[move.first_end + i];
        if (end.where != Where::peer) continue;
        const std::size_t bytes = length_of(lane, move, *buffers.blocks) * element_bytes;
        Pipe& pipe = pipes_[end.need];
        pipe.hash = mixed(pipe.hash, bytes);
        pipe.bytes += bytes;
        pending_ += pipe.pending ? 0 : 1;
        pipe.pending = true;
      }
  }
}

bool Signatures::advance() {
  bool moved = false;
  for (std::size_t need = 0; need < pipes_.size(); ++need) {
    if (!pipes_[need].pending || !compare(need, {pipes_[need].hash, pipes_[need].bytes})) continue;
    pipes_[need].pending = false;
    --pending_;
    moved = true;
  }
  return moved;
}

bool Signatures::compare(std::size_t need, std::size_t bytes) {
  return compare(need, {mixed(0, bytes), bytes});
}

bool Signatures::compare(std::size_t need, const Signature& mine) {
  if (transport::SendPipe* to = plan_.send_pipe(need)) {
    std::byte* slot = to->acquire(sizeof mine);
    if (slot == nullptr) return false;
    std::memcpy(slot, &mine, sizeof mine);
    to->commit(sizeof mine);
    return true;
  }
  transport::ReceivePipe* const from = plan_.receive_pipe(need);
  const std::byte* message = from->peek(sizeof mine);
  if (message == nullptr) return false;
  Signature theirs;
  std::memcpy(&theirs, message, sizeof theirs);
  from->release();
  if (std::memcmp(&theirs, &mine, sizeof mine) != 0)
    base::fail(heddleRemoteError,
               "rank {} and rank {} differ in the lengths of the blocks that go from one to the "
               "other ({} bytes there, {} here): their counts must be the same",
               plan_.needs()[need].peer, plan_.rank(), theirs.bytes, mine.bytes);
  return true;
}

int Signatures::waiting_on_rank() const {
  for (std::size_t need = 0; need < pipes_.size(); ++need)
    if (pipes_[need].pending) return plan_.needs()[need].peer;
  return -1;
}

}  // namespace heddle::executor
