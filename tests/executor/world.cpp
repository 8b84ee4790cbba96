#include "world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/deadline.hpp"

namespace heddle::test {

namespace {

constexpr std::size_t kRedZone = 128;  // bytes
constexpr std::byte kRed{0xA5};
constexpr std::byte kUnwritten{0xCD};

// Memory between red zones, off alignment as told.
class Buffer {
 public:
  Buffer(std::size_t bytes, std::size_t misaligned)
      : memory_(bytes + 2 * kRedZone + misaligned, kRed),
        begin_(kRedZone + misaligned),
        bytes_(bytes) {
    std::fill_n(data(), bytes, kUnwritten);
  }
  std::byte* data() { return memory_.data() + begin_; }
  bool zones_intact() const {
    const auto red = [](std::byte b) { return b == kRed; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(memory_.begin(), begin, red) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), red);
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t begin_;
  std::size_t bytes_;
};

// One rank's buffers of one operation.
class RankBuffers {
 public:
  RankBuffers(const Operation& operation, const Model& model, int rank, bool in_place,
              std::size_t misaligned)
      : operation_(operation),
        model_(model),
        rank_(rank),
        in_place_(in_place),
        input_(in_place ? std::max(model.input(rank).size(), model.output_bytes())
                        : model.input(rank).size(),
               misaligned),
        output_(in_place ? 0 : model.output_bytes(), misaligned) {
    std::copy(model.input(rank).begin(), model.input(rank).end(), input_at());
  }

  executor::Buffers buffers() {
    return {input_at(), output_at(), operation_.count, operation_.type, operation_.op};
  }

  std::string wrong() {
    const std::string text = model_.wrong(rank_, output_at());
    if (!text.empty()) return text;
    const auto input = model_.input(rank_);
    if (!in_place_ && !std::equal(input.begin(), input.end(), input_at())) {
      return fmt::format("rank {}: the input was written", rank_);
    }
    if (!input_.zones_intact() || !output_.zones_intact()) {
      return fmt::format("rank {}: wrote outside of its buffers", rank_);
    }
    return "";
  }

 private:
  std::size_t own_block() const {
    return static_cast<std::size_t>(rank_) * operation_.count * base::size_of(operation_.type);
  }
  std::byte* input_at() {
    const bool inside = in_place_ && operation_.collective == base::Collective::all_gather;
    return input_.data() + (inside ? own_block() : 0);
  }
  std::byte* output_at() {
    if (!in_place_) return output_.data();
    const bool inside = operation_.collective == base::Collective::reduce_scatter;
    return input_.data() + (inside ? own_block() : 0);
  }

  const Operation& operation_;
  const Model& model_;
  int rank_;
  bool in_place_;
  Buffer input_;  // in place, the larger of both
  Buffer output_;
};

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
  for (int rank = 0; rank < shape.ranks; ++rank) {
    plans_.push_back(std::make_unique<executor::Plan>(executor::program_of(algorithm, shape, rank),
                                                      options.slot_bytes));
    Table table(*this, rank);
    plans_.back()->bind(table);
    executions_.push_back(std::make_unique<executor::Execution>(*plans_.back()));
  }
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

std::string World::run(const Operation& operation, bool in_place, std::size_t misaligned,
                       const Drive& drive) {
  const Model model(operation);
  std::vector<RankBuffers> buffers;
  buffers.reserve(size());
  for (std::size_t rank = 0; rank < size(); ++rank) {
    buffers.emplace_back(operation, model, static_cast<int>(rank), in_place, misaligned);
    executions_[rank]->reset(buffers[rank].buffers());
  }
  std::string wrong = drive(*this);
  if (!wrong.empty()) return wrong;
  for (RankBuffers& rank : buffers) {
    wrong = rank.wrong();
    if (!wrong.empty()) return wrong;
  }
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
