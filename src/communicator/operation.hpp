// One collective call: what it is, its place in the order, and how it ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/types.hpp"
#include "executor/host/execution.hpp"

namespace heddle::communicator {

struct Call {
  base::Collective collective;
  executor::Buffers buffers;
};

class Operation {
 public:
  Operation(const Call& called, std::uint64_t place) : call(called), number(place) {}

  const Call call;
  const std::uint64_t number;  // 1 for the first of the communicator

  // Any thread. The error's text may be read once finished.
  bool finished() const { return result() != heddleInProgress; }
  heddleResult_t result() const { return result_.load(std::memory_order_acquire); }
  const std::string& error() const { return error_; }

  void finish(heddleResult_t result, std::string error = {}) {
    error_ = std::move(error);
    result_.store(result, std::memory_order_release);
  }

  // "all-reduce #12 (float sum, 1024 elements)"
  std::string describe() const;

 private:
  std::atomic<heddleResult_t> result_{heddleInProgress};
  std::string error_;
};

}  // namespace heddle::communicator
