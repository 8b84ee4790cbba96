// Counts are each rank's own argument, so the two ends of a pipe may differ in what they think goes
// over it. Most operations find out by the lengths of messages alone. Where those say too little,
// the ends compare a signature of the operation before its data moves:
// - a message may be longer than what the pipe tells the length of (told_length());
// - an operation takes several rounds, so that one of another count may begin with the same
// lengths;
// - blocks have lengths of their own.
// Of sends and receives each is compared when its turn comes, for the two ends may have grouped
// them differently. One of no bytes always is: without a message nothing would tell it from the
// next.
//
// Thread rule: that of the execution that owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/rounds.hpp"
#include "executor/plan.hpp"

namespace heddle::executor {

struct Buffers;

class Signatures {
 public:
  // `plan` must be bound and outlive this.
  explicit Signatures(const Plan& plan) : plan_(plan), pipes_(plan.needs().size()) {}

  // Of a new operation whose blocks are equal and cut like this.
  void reset(const Buffers& buffers, std::size_t element_bytes, const collectives::Rounds& cut);
  // Of a new operation with buffers.blocks; nothing yet in lanes in sequence.
  void reset(const Buffers& buffers, std::size_t element_bytes);
  bool pending() const { return pending_ != 0; }
  // Whether nothing else may go over this pipe yet.
  bool pending(std::size_t need) const { return pending_ != 0 && pipes_[need].pending; }
  // Sends and compares what it can now; whether it could any. Fails with heddleRemoteError naming
  // both ranks where they differ; so does all that compares.
  bool advance();
  // The rank that it waits for.
  int waiting_on_rank() const;

  // Whether a send or receive of so many bytes is to be compared, and the comparison, at its end of
  // the pipe: false when it cannot yet.
  bool wanted(std::size_t need, std::size_t bytes) const;
  bool compare(std::size_t need, std::size_t bytes);

  // Fails when the message, whose length is right, is a signature where data is due: the peer's
  // operation is longer than this one.
  void expect_data(std::size_t need, const std::byte* message, std::size_t bytes) const {
    if (bytes == sizeof(Signature)) [[unlikely]]
      expect_no_signature(need, message);
  }

 private:
  struct Pipe {
    std::uint64_t hash = 0;
    std::size_t bytes = 0;
    bool pending = false;
  };
  // What crosses a pipe to be compared.
  struct Signature {
    std::uint64_t magic;  // tells it from data
    std::uint64_t hash;   // of the lengths in the order in which they move, or of the kind of call
    std::uint64_t bytes;  // of the blocks
  };
  bool compare(std::size_t need, std::uint64_t hash, std::uint64_t bytes);
  void expect_no_signature(std::size_t need, const std::byte* message) const;

  const Plan& plan_;
  std::vector<Pipe> pipes_;  // one a need of the plan
  std::size_t pending_ = 0;
};

}  // namespace heddle::executor
