#include "executor/host/signatures.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "executor/host/execution.hpp"

namespace heddle::executor {
namespace {

using Where = collectives::End::Where;

constexpr std::uint64_t kMagic = 0x9d1c'5e0b'27f3'84a6;  // random

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

std::uint64_t kind_of(const collectives::Shape& shape, const Buffers& buffers) {
  std::uint64_t hash = mixed(0, static_cast<std::uint64_t>(shape.collective));
  hash = mixed(hash, static_cast<std::uint64_t>(shape.root));
  if (!base::reduces(shape.collective)) return hash;
  return mixed(mixed(hash, static_cast<std::uint64_t>(buffers.type)),
               static_cast<std::uint64_t>(buffers.op));
}

}  // namespace

void Signatures::reset(const Buffers& buffers, std::size_t element_bytes,
                       const collectives::Rounds& cut) {
  pending_ = 0;
  const std::size_t longest = cut.piece * plan_.parts() * element_bytes;
  if (cut.rounds <= 1 && longest <= plan_.told_length()) return;
  const std::uint64_t hash = kind_of(plan_.shape(), buffers);
  pipes_.assign(pipes_.size(), {hash, buffers.count * element_bytes, true});
  pending_ = pipes_.size();
}

void Signatures::reset(const Buffers& buffers, std::size_t element_bytes) {
  pending_ = 0;
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
    if (!pipes_[need].pending || !compare(need, pipes_[need].hash, pipes_[need].bytes)) continue;
    pipes_[need].pending = false;
    --pending_;
    moved = true;
  }
  return moved;
}

bool Signatures::wanted(std::size_t need, std::size_t bytes) const {
  return bytes == 0 || bytes > std::min(plan_.told_length(need), plan_.chunk_bytes());
}

bool Signatures::compare(std::size_t need, std::size_t bytes) {
  return compare(need, mixed(0, bytes), bytes);
}

bool Signatures::compare(std::size_t need, std::uint64_t hash, std::uint64_t bytes) {
  const Signature mine{kMagic, hash, bytes};
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
  const int peer = plan_.needs()[need].peer;
  if (theirs.magic != mine.magic)
    base::fail(
        heddleRemoteError,
        "rank {} and rank {} differ in what goes from one to the other: rank {} sends data of "
        "another call",
        peer, plan_.rank(), peer);
  if (theirs.bytes != mine.bytes)
    base::fail(heddleRemoteError,
               "rank {} and rank {} differ in the lengths of the blocks that go from one to the "
               "other ({} bytes there, {} here): their counts must be the same",
               peer, plan_.rank(), theirs.bytes, mine.bytes);
  if (theirs.hash != mine.hash)
    base::fail(heddleRemoteError,
               "rank {} and rank {} make different calls, of {} bytes both: collective, counts, "
               "type, operation and root must be the same (HEDDLE_CHECK=1 tells which is not)",
               peer, plan_.rank(), mine.bytes);
  return true;
}

void Signatures::expect_no_signature(std::size_t need, const std::byte* message) const {
  Signature theirs;
  std::memcpy(&theirs, message, sizeof theirs);
  if (theirs.magic != kMagic) return;
  const int peer = plan_.needs()[need].peer;
  base::fail(heddleRemoteError,
             "rank {} and rank {} differ in what goes from one to the other: blocks of {} bytes "
             "there, others here",
             peer, plan_.rank(), theirs.bytes);
}

int Signatures::waiting_on_rank() const {
  for (std::size_t need = 0; need < pipes_.size(); ++need)
    if (pipes_[need].pending) return plan_.needs()[need].peer;
  return -1;
}

}  // namespace heddle::executor
