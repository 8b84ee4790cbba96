#include "world.hpp"

#include <fmt/format.h>

#include <random>
#include <thread>

#include "base/deadline.hpp"

namespace heddle::test {

namespace {

// An operand's blocks, for an execution.
std::vector<executor::Block> blocks_at(const std::byte* start,
                                       const std::vector<std::size_t>& counts,
                                       const std::vector<std::size_t>& displacements,
                                       std::size_t element) {
  std::vector<executor::Block> blocks;
  for (std::size_t i = 0; i < counts.size(); ++i)
    blocks.push_back({const_cast<std::byte*>(start) + displacements[i] * element, counts[i]});
  return blocks;
}

}  // namespace

class World::Table final : public executor::PipeTable {
 public:
  Table(World& world, int rank) : world_(world), rank_(rank) {}
  transport::SendPipe& to(int peer, int channel) override {
    return world_.wire(rank_, peer, channel);
  }
  transport::ReceivePipe& from(int peer, int channel) override {
    return world_.wire(peer, rank_, channel);
  }

 private:
  World& world_;
  int rank_;
};

World::World(const collectives::Algorithm& algorithm, const collectives::Shape& shape,
             const WireOptions& options)
    : options_(options) {
  for (int rank = 0; rank < shape.ranks; ++rank) add(executor::program_of(algorithm, shape, rank));
}

World::World(const std::vector<executor::Program>& programs, const WireOptions& options)
    : options_(options) {
  for (const executor::Program& program : programs) add(program);
}

void World::add(const executor::Program& program) {
  plans_.push_back(std::make_unique<executor::Plan>(program, options_.slot_bytes));
  Table table(*this, program.rank);
  plans_.back()->bind(table);
  executions_.push_back(std::make_unique<executor::Execution>(*plans_.back()));
}

Wire& World::wire(int from, int to, int channel) {
  auto& wire = wires_[{from, to, channel}];
  if (!wire) {
    WireOptions options = options_;
    options.seed += static_cast<std::uint32_t>(wires_.size()) * 7919U;
    wire = std::make_unique<Wire>(options);
  }
  return *wire;
}

std::string World::run(const Operation& operation, const Placing& placing, const Drive& drive) {
  const auto model = shared_model(operation);
  const std::size_t element = base::size_of(operation.type);
  std::vector<Operands> operands;
  std::vector<executor::Blocks> blocks(size());
  operands.reserve(size());
  for (std::size_t rank = 0; rank < size(); ++rank) {
    const Operands& own = operands.emplace_back(model, static_cast<int>(rank), placing);
    executor::Buffers buffers{own.send(), own.receive(), operation.count, operation.type,
                              operation.op};
    if (operation.scaled) buffers.scale = model->scale(static_cast<int>(rank)).data();
    if (operation.uneven) {
      blocks[rank].inputs =
          blocks_at(own.send(), own.send_counts(), own.send_displacements(), element);
      blocks[rank].outputs =
          blocks_at(own.receive(), own.receive_counts(), own.receive_displacements(), element);
      buffers.blocks = &blocks[rank];
    }
    executions_[rank]->reset(buffers);
  }
  std::string wrong = drive(*this);
  if (!wrong.empty()) return wrong;
  for (const Operands& rank : operands) {
    wrong = rank.wrong();
    if (!wrong.empty()) return wrong;
  }
  return leftovers();
}

std::string World::leftovers() const {
  for (const auto& [key, wire] : wires_) {
    if (!wire->empty())
      return fmt::format("the pipe {} -> {} is not empty", std::get<0>(key), std::get<1>(key));
  }
  return "";
}

std::string World::waiting() const {
  std::string text;
  for (std::size_t rank = 0; rank < size(); ++rank) {
    text += fmt::format("rank {} waits for {}\n", rank, executions_[rank]->waiting_for());
  }
  return text;
}

std::uint64_t World::messages() const {
  std::uint64_t sum = 0;
  for (const auto& [key, wire] : wires_) sum += wire->messages();
  return sum;
}

std::uint64_t World::sent_in_place() const {
  std::uint64_t sum = 0;
  for (const auto& [key, wire] : wires_) sum += wire->sent_in_place();
  return sum;
}

World::Drive stepped(std::uint32_t seed) {
  return [seed](World& world) -> std::string {
    std::minstd_rand random(seed);
    std::vector<std::size_t> running(world.size());
    for (std::size_t rank = 0; rank < world.size(); ++rank) running[rank] = rank;
    std::size_t idle = 0;
    while (!running.empty()) {
      const std::size_t at = random() % running.size();
      const auto state = world.execution(running[at]).advance();
      idle = state == executor::Execution::State::blocked ? idle + 1 : 0;
      if (state == executor::Execution::State::done) {
        running[at] = running.back();
        running.pop_back();
      }
      // A reluctant pipe says "not yet" a third of the time: never so often to every rank.
      if (idle > 200 * world.size()) return "deadlock:\n" + world.waiting();
    }
    return "";
  };
}

std::string threaded(World& world) {
  const base::Deadline deadline(base::Seconds(30));
  std::vector<std::string> wrong(world.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          executor::Execution& execution = world.execution(rank);
          for (;;) {
            const auto state = execution.advance();
            if (state == executor::Execution::State::done) return;
            if (state == executor::Execution::State::moved) continue;
            std::this_thread::yield();
            if (!deadline.passed()) continue;
            wrong[rank] = fmt::format("rank {} still waits for {}", rank, execution.waiting_for());
            return;
          }
        } catch (const std::exception& error) {
          wrong[rank] = fmt::format("rank {}: {}", rank, error.what());
        }
      });
    }
  }
  std::string all;
  for (const std::string& text : wrong) all += text;
  return all;
}

}  // namespace heddle::test
