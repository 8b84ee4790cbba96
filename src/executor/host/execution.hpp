// One operation on its way through a plan, over host memory. It never waits: the owner calls
// advance() until it says done, and decides what to do in between (progress the transport, spin,
// sleep, give up). Owns no pipe and no buffer; allocates in the constructor alone.
//
// Thread rule: one thread at a time. Executions that share a pipe run one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "collectives/rounds.hpp"
#include "executor/host/signatures.hpp"
#include "executor/plan.hpp"

namespace heddle::executor {

struct Block {
  std::byte* data;    // of an input: never written
  std::size_t count;  // elements
};

// Where each block lies, for blocks of different lengths. What a block has is known to every rank
// that moves it.
struct Blocks {
  std::vector<Block> inputs;
  std::vector<Block> outputs;
};

// Must outlive the operation. In place as base::input_in_place says; otherwise input and output
// must not overlap. Input is never written unless it is output too.
struct Buffers {
  const std::byte* input;
  std::byte* output;
  std::size_t count;  // elements of one block
  base::DataType type;
  base::RedOp op;  // ignored where nothing is reduced
  // One element that this rank's input is multiplied by as it is read; null for none.
  const std::byte* scale = nullptr;
  // Where set, it says where the blocks are and how long, in place of the first three. Requires a
  // program whose moves all have an input or output end.
  const Blocks* blocks = nullptr;
};

class Execution {
 public:
  enum class State : std::uint8_t {
    blocked,  // nothing moved: every lane waits for a peer
    moved,    // something moved: call again
    done,     // the output is there and the buffers are the caller's again
  };

  // `plan` must be bound and outlive this. The execution is done until reset().
  explicit Execution(const Plan& plan);
  Execution(Execution&&) = default;
  Execution& operator=(Execution&&) = delete;

  // Starts an operation. One that was given up leaves its pipes out of step and its sends in place
  // forgotten: close those pipes before anything else.
  void reset(const Buffers& buffers);

  // Moves what can be moved now, up to about kTurnBytes a lane, without waiting. What a broken pipe
  // throws passes through; then only destruction may follow.
  State advance();

  // What the first unfinished lane waits for, after blocked, for error texts: "data from rank 3 on
  // channel 0, round 2 of 5, move 4"; "nothing" when done. Rounds and moves count from 1.
  std::string waiting_for() const;
  // The rank that waiting_for() names; -1 for none.
  int waiting_on_rank() const;

  // What one lane may move before the others, the transport and the owner get their turn: some tens
  // of microseconds, so that network sends of other lanes and aborts are not held up.
  static constexpr std::size_t kTurnBytes = 256 * 1024;
  // Outputs larger than this are written around the caches: they would not fit in a core's share of
  // the last level anyway, and stores that bypass it save reading each line before writing it.
  static constexpr std::size_t kStreamingBytes = 8 * 1024 * 1024;
  // Chunks from so many bytes on go around the caches where their pipe wants it.
  static constexpr std::size_t kLeastStreamedBytes = 4096;

 private:
  struct LaneState {
    const PlannedLane* plan;
    std::size_t round;
    std::uint32_t move;
    // Of the move under way.
    collectives::Chunk chunk;
    std::uint32_t ready;     // sources, destinations and hazards found ready, in that order
    std::uint32_t written;   // destinations in `into`
    std::uint32_t deferred;  // peers that send in place, once the reduction is done
    std::uint32_t sending;   // destinations that need no more sending in place
    bool unannounced;        // the length of the send or receive is still to be compared
    bool reduced;
    bool finished;
    // Parts of the execution's arrays.
    const std::byte** from;                 // a source each
    std::byte** into;                       // what the reduction writes: outputs and slots
    std::byte** slots;                      // a destination each, null where it sends in place
    std::optional<std::uint64_t>* tickets;  // an end each
  };
  // Whom and what an unfinished operation waits for.
  struct Wait {
    std::string_view what;
    int rank;
    int channel;
    const LaneState* lane;
  };

  bool run(LaneState& lane);
  bool announce(LaneState& lane, const PlannedMove& move);
  bool run_move(LaneState& lane, const PlannedMove& move);
  bool gather(LaneState& lane, const PlannedMove& move);
  bool hazard_passed(LaneState& lane, const Hazard& hazard);
  void reduce(LaneState& lane, const PlannedMove& move);
  bool divides(const PlannedMove& move) const;
  bool is_input(std::uint32_t end, const LaneState& lane) const;
  int scaled_source(const LaneState& lane, const PlannedMove& move) const;
  bool may_send_in_place(const LaneState& lane, const PlannedMove& move,
                         const PlannedEnd& end) const;
  unsigned streaming_mask(const LaneState& lane, const PlannedMove& move) const;
  void hand_over(LaneState& lane, const PlannedMove& move);
  bool send_in_place(LaneState& lane, const PlannedMove& move);
  void enter(LaneState& lane);
  void leave(LaneState& lane) const;
  collectives::Chunk chunk_at(const LaneState& lane) const;
  std::size_t block_count(const LaneState& lane) const;
  collectives::Rounds cut_at(const LaneState& lane) const;
  std::size_t most_rounds() const;
  bool all_sent();
  std::byte* output_chunk(const PlannedEnd& end, const collectives::Chunk& chunk) const;
  const std::byte* local_chunk(const PlannedEnd& end, const collectives::Chunk& chunk) const;
  Wait wait() const;

  const Plan& plan_;
  Signatures signatures_;
  Buffers buffers_{};
  std::size_t element_bytes_ = 1;
  collectives::Rounds cut_{};  // of equal blocks
  std::size_t rounds_ = 0;     // of the longest block
  bool in_place_ = false;
  bool streaming_ = false;
  std::size_t unfinished_ = 0;  // lanes
  std::vector<LaneState> lanes_;
  // Storage that the lanes' pointers lead into.
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::vector<std::optional<std::uint64_t>> tickets_;
  // The newest ticket of each pipe, one a need of the plan.
  std::vector<std::optional<std::uint64_t>> last_tickets_;
  bool tickets_out_ = false;
};

}  // namespace heddle::executor
