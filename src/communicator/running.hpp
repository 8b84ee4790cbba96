// The operation under way: its executions, the connections they still need, and what it waits for.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "communicator/pipes.hpp"
#include "communicator/planner.hpp"

namespace heddle::communicator {

class Running {
 public:
  enum class State : std::uint8_t { blocked, moved, done };

  // `fabric` may be null; all must outlive this.
  Running(Planner& planner, Pipes& pipes, transport::Transport* fabric)
      : planner_(planner), pipes_(pipes), fabric_(fabric) {}

  // The call must stay until the operation has ended.
  void begin(const Call& call);
  // Connects and moves what it can now, without waiting. What a broken pipe throws passes through.
  State advance();

  // After blocked: "data from rank 3 on channel 0, ...", by which algorithm, and that rank or -1.
  std::string waiting_for() const;
  const std::string& by() const { return stuck().name; }
  int waiting_on_rank() const;

 private:
  bool connect(Prepared& part);
  executor::Buffers buffers_for(const Prepared& part);
  const Prepared& stuck() const;

  Planner& planner_;
  Pipes& pipes_;
  transport::Transport* fabric_;
  const Call* call_ = nullptr;
  std::span<Prepared* const> parts_;
  std::byte barrier_input_{0};
  std::byte barrier_output_{0};
  int missing_ = -1;  // a rank whose pipe is not there
};

}  // namespace heddle::communicator
