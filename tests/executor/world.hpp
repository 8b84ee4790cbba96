// Ranks of one process with a Wire for every pipe that their plans need.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/schedule.hpp"
#include "executor/host/execution.hpp"
#include "operands.hpp"
#include "test_pipe.hpp"

namespace heddle::test {

class World {
 public:
  World(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
        const WireOptions& options);
  // A rank each, by its place.
  World(const std::vector<executor::Program>& programs, const WireOptions& options);

  // Advances all executions, in some order, until all are done; a text when they stop short of it.
  using Drive = std::function<std::string(World&)>;

  // One operation with fresh buffers. Says what is wrong, or nothing: "" for an operation as it
  // should be.
  std::string run(const Operation& operation, const Placing& placing, const Drive& drive);

  std::size_t size() const { return executions_.size(); }
  executor::Execution& execution(std::size_t rank) { return *executions_[rank]; }
  const executor::Plan& plan(std::size_t rank) const { return *plans_[rank]; }
  // What every rank waits for, one a line.
  std::string waiting() const;
  // What is left in the pipes, which must be nothing between operations.
  std::string leftovers() const;
  std::uint64_t messages() const;
  std::uint64_t sent_in_place() const;

 private:
  class Table;

  void add(const executor::Program& program);
  Wire& wire(int from, int to, int channel);

  WireOptions options_;
  std::map<std::tuple<int, int, int>, std::unique_ptr<Wire>> wires_;
  std::vector<std::unique_ptr<executor::Plan>> plans_;
  std::vector<std::unique_ptr<executor::Execution>> executions_;
};

// Steps the ranks in a random order of this seed, alone on one thread; gives up when nothing has
// moved for longer than reluctant pipes explain.
World::Drive stepped(std::uint32_t seed);
// A thread a rank.
std::string threaded(World& world);

}  // namespace heddle::test
