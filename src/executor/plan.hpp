// A rank's program, made ready once: the pipes that it needs and, once bound to those, flat arrays
// with everything resolved that does not depend on the buffers.
// Made, asked and bound by one thread; then constant and shared by any number of executions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule.hpp"
#include "executor/program.hpp"
#include "transport/pipe.hpp"

namespace heddle::executor {

struct PipeNeed {
  using Direction = executor::Direction;
  int peer;
  int channel;
  Direction direction;

  auto operator<=>(const PipeNeed&) const = default;
};

// The pipes of a communicator, which owns them and keeps them for as long as the plan is used.
class PipeTable {
 public:
  virtual ~PipeTable() = default;
  virtual transport::SendPipe& to(int peer, int channel) = 0;
  virtual transport::ReceivePipe& from(int peer, int channel) = 0;
};

// collectives::End with its pipe.
struct PlannedEnd {
  collectives::End::Where where;
  // Of a peer among the destinations: what it gets lies in local memory too (PlannedMove::stage),
  // and the pipe may send it from there.
  bool may_send_in_place;
  // Of an output: no later move of the lane reads this chunk.
  bool last_use;
  int index;                               // block, or rank of the peer
  std::uint32_t need;                      // of a peer: its pipe's index in Plan::needs()
  std::uint32_t part = 0;                  // of a peer: which chunk of its message this is
  std::uint32_t parts = 1;                 // of a peer: the chunks of the message
  transport::SendPipe* to = nullptr;       // of a peer among the destinations
  transport::ReceivePipe* from = nullptr;  // of a peer among the sources
};

// A chunk that a move writes may still be leaving by an earlier send in place.
struct Hazard {
  std::uint32_t end;   // of the sending end, index into PlannedLane::ends
  bool only_in_place;  // what was sent was input: the same memory only in an in-place operation
};

// collectives::Move with its ends in the lane's flat arrays: sources, then destinations.
struct PlannedMove {
  std::uint32_t piece;
  std::uint32_t first_end;
  std::uint32_t sources;
  std::uint32_t destinations;
  std::uint32_t first_hazard;
  std::uint32_t hazards;
  std::uint32_t stage;  // the local end whose chunk is sent in place, where an end may do so
  std::uint32_t local;  // an end with a block, which says how long the chunk is; or kNoEnd
  bool completes;
};
inline constexpr std::uint32_t kNoEnd = 0xffffffff;

struct PlannedLane {
  int channel;
  bool in_sequence;
  std::vector<PlannedMove> moves;
  std::vector<PlannedEnd> ends;
  std::vector<Hazard> hazards;
  std::uint32_t most_sources = 0;
  std::uint32_t most_destinations = 0;
};

class Plan {
 public:
  // The most that one message may have, which its parts share: at least least_message(parts). Every
  // rank must give the same, for it decides the rounds.
  Plan(const Program& program, std::size_t message_bytes);

  // What to open before bind(): sorted, each once.
  std::span<const PipeNeed> needs() const { return needs_; }
  // Takes every needed pipe from the table. Their slots must hold a message.
  void bind(PipeTable& pipes);

  bool bound() const { return bound_; }
  const collectives::Shape& shape() const { return shape_; }
  int rank() const { return rank_; }
  std::size_t pieces() const { return pieces_; }
  std::size_t message_bytes() const { return message_bytes_; }
  // What one chunk may have, so that a message's parts fit it.
  std::size_t chunk_bytes() const { return message_bytes_ / parts_; }
  std::size_t parts() const { return parts_; }
  std::span<const PlannedLane> lanes() const { return lanes_; }
  // The bound pipe of a need whose direction is send, else null.
  transport::SendPipe* send_pipe(std::size_t need) const { return send_pipes_[need]; }
  // The same for receive.
  transport::ReceivePipe* receive_pipe(std::size_t need) const { return receive_pipes_[need]; }
  // Of a bound pipe; and the least of all. Messages up to it tell their length.
  std::size_t told_length(std::size_t need) const;
  std::size_t told_length() const { return told_length_; }

 private:
  collectives::Shape shape_;
  int rank_;
  std::size_t pieces_;
  std::size_t parts_;
  std::size_t message_bytes_;
  std::size_t told_length_ = transport::SendPipe::kEveryLength;
  bool bound_ = false;
  std::vector<PlannedLane> lanes_;
  std::vector<PipeNeed> needs_;
  std::vector<transport::SendPipe*> send_pipes_;        // one a need
  std::vector<transport::ReceivePipe*> receive_pipes_;  // one a need
};

}  // namespace heddle::executor
