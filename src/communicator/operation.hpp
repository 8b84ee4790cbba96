// One call: what it is, its place in the order, and how it ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "executor/host/execution.hpp"
#include "executor/program.hpp"

namespace heddle::communicator {

// A send or a receive of a group; `block.data` of a send is never written.
struct Transfer {
  executor::Direction direction;
  int peer;
  executor::Block block;  // in bytes
};

// "send to rank 3"
std::string describe(const Transfer& transfer);

struct Call {
  enum class Kind : std::uint8_t { collective, barrier, transfers };
  Kind kind = Kind::collective;
  // Of a collective; a barrier is an all-reduce of one byte.
  base::Collective collective = base::Collective::all_reduce;
  int root = 0;
  // Without `scale` and `blocks`, which buffers_of() sets from the next two.
  executor::Buffers buffers{};
  bool scaled = false;
  std::array<std::byte, 8> scale{};                // one element of the type
  std::shared_ptr<const executor::Blocks> blocks;  // null for equal blocks
  // Of a group of sends and receives, in the order of the calls.
  std::vector<Transfer> transfers;
};

// What an execution gets; leads into the call.
executor::Buffers buffers_of(const Call& call);

// Of the larger of the two buffers; of transfers, what is sent or received in all.
std::size_t larger_buffer_bytes(const Call& call, int ranks);

class Operation {
 public:
  Operation(Call called, std::uint64_t place) : call(std::move(called)), number(place) {}

  const Call call;
  // 1 for the first of the communicator; groups of sends and receives are counted by themselves,
  // since not every rank takes part in them.
  const std::uint64_t number;

  // Any thread. The error's text may be read once finished.
  bool finished() const { return result() != heddleInProgress; }
  heddleResult_t result() const { return result_.load(std::memory_order_acquire); }
  const std::string& error() const { return error_; }

  void finish(heddleResult_t result, std::string error = {}) {
    error_ = std::move(error);
    result_.store(result, std::memory_order_release);
  }

  // "all-reduce #12 (float sum, 1024 elements)", "send to rank 3 #2 (4096 bytes)"
  std::string describe() const;

 private:
  std::atomic<heddleResult_t> result_{heddleInProgress};
  std::string error_;
};

}  // namespace heddle::communicator
