#include "communicator/running.hpp"

#include <fmt/format.h>

namespace heddle::communicator {
executor::Buffers Running::buffers_for(const Prepared& part) {
  executor::Buffers buffers = buffers_of(*call_);
  if (call_->kind == Call::Kind::transfers) buffers.blocks = &part.blocks;
  if (call_->kind == Call::Kind::barrier) {
    buffers.input = &barrier_input_;
    buffers.output = &barrier_output_;
  }
  return buffers;
}

void Running::begin(const Call& call) {
  call_ = &call;
  missing_ = -1;
  parts_ = planner_.prepare(call);
  for (Prepared* part : parts_) {
    part->done = false;
    if (part->execution) part->execution->reset(buffers_for(*part));
  }
}

bool Running::connect(Prepared& part) {
  if (!pipes_.open(part.plan.needs(), missing_)) return false;
  part.plan.bind(pipes_);
  part.execution = std::make_unique<executor::Execution>(part.plan);
  part.uses_fabric = pipes_.through(fabric_, part.plan.needs());
  part.execution->reset(buffers_for(part));
  return true;
}

Running::State Running::advance() {
  bool moved = false, left = false, uses_fabric = false;
  for (Prepared* part : parts_) {
    if (part->done) continue;
    if (!part->execution && !connect(*part)) {
      left = true;
      continue;
    }
    const auto now = part->execution->advance();
    part->done = now == executor::Execution::State::done;
    moved |= now == executor::Execution::State::moved || part->done;
    left |= !part->done;
    uses_fabric |= part->uses_fabric;
  }
  if (!left) return State::done;
  if (moved) return State::moved;
  if (uses_fabric) fabric_->progress();
  return State::blocked;
}

// The first that has not finished; after advance() has answered blocked there is one.
const Prepared& Running::stuck() const {
  for (const Prepared* part : parts_)
    if (!part->done) return *part;
  return *parts_.front();
}

int Running::waiting_on_rank() const {
  const Prepared& part = stuck();
  return part.execution ? part.execution->waiting_on_rank() : missing_;
}

std::string Running::waiting_for() const {
  const Prepared& part = stuck();
  return part.execution ? part.execution->waiting_for()
                        : fmt::format("a connection with rank {}", missing_);
}

}  // namespace heddle::communicator
