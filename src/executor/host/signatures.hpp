// Before blocks of different lengths move, the two ends of every pipe compare what they think goes
// over it: lengths are each rank's own argument, and a long message does not carry its length over
// every transport. Of sends and receives each long one is compared when its turn comes, for the
// two ends may have grouped them differently.
//
// Thread rule: that of the execution that owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/plan.hpp"

namespace heddle::executor {

struct Buffers;

class Signatures {
 public:
  // `plan` must be bound and outlive this.
  explicit Signatures(const Plan& plan) : plan_(plan), pipes_(plan.needs().size()) {}

  // Of a new operation; nothing to compare where its blocks are equal, and nothing yet in lanes in
  // sequence.
  void reset(const Buffers& buffers, std::size_t element_bytes);
  bool pending() const { return pending_ != 0; }
  // Sends and compares what it can now; whether it could any. Fails with heddleRemoteError naming
  // both ranks where they differ.
  bool advance();
  // The rank that it waits for.
  int waiting_on_rank() const;

  // Compares the length of a send or receive, at its end of the pipe; false when it cannot yet.
  bool compare(std::size_t need, std::size_t bytes);

  // Sends and receives from so many bytes are compared: shorter messages always carry their length.
  static constexpr std::size_t kLongTransfer = 64 * 1024;

 private:
  struct Pipe {
    std::uint64_t hash = 0;
    std::size_t bytes = 0;
    bool pending = false;
  };
  // What crosses a pipe to be compared: the lengths in the order in which they move, as a hash.
  struct Signature {
    std::uint64_t hash;
    std::uint64_t bytes;
  };
  bool compare(std::size_t need, const Signature& mine);

  const Plan& plan_;
  std::vector<Pipe> pipes_;  // one a need of the plan
  std::size_t pending_ = 0;
};

}  // namespace heddle::executor
