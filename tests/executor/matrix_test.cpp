// Every algorithm x collective x type x op x in/out of place x count x ranks x channels x root,
// stepped on one thread in a seeded random order.
#include <fmt/format.h>

#include <set>

#include "catch.hpp"
#include "run_shapes.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;

namespace {

struct Tally {
  std::size_t operations = 0;
  std::uint64_t messages = 0;
  std::uint64_t in_place = 0;
};

// A collective of some ranks, and a root.
struct Task {
  base::Collective collective;
  int ranks;
  int root;
};

std::vector<Task> tasks(const std::vector<int>& rank_counts) {
  std::vector<Task> tasks;
  for (int c = 0; c < base::kCollectives; ++c)
    for (const int ranks : rank_counts) {
      const auto collective = static_cast<base::Collective>(c);
      for (const int root : roots(collective, ranks)) tasks.push_back({collective, ranks, root});
    }
  return tasks;
}

// A world for every way to do a task.
class Matrix {
 public:
  Matrix(const WireOptions& options, const std::vector<int>& channels)
      : options_(options), channels_(channels) {}

  // Takes up a task; operations are then run by every algorithm that can do it.
  void take(const Task& task) {
    count_messages();
    task_ = task;
    entries_.clear();
    for (const collectives::Algorithm& algorithm : collectives::algorithms())
      for (const int channels : channels_)
        for (const auto& shape :
             shapes(algorithm, {task.collective, task.ranks, channels, task.root})) {
          options_.seed += 101;
          options_.slots = 4 + static_cast<int>(options_.seed % 5);
          entries_.push_back(
              {&algorithm, shape, std::make_unique<World>(algorithm, shape, options_)});
        }
  }

  // Out of place, and in place where there is such a form.
  void run_both(base::DataType type, base::RedOp op, std::size_t count) {
    run(operation(type, op, count), false);
    if (has_in_place(task_.collective)) run(operation(type, op, count), true);
  }
  void run(const Operation& operation, bool in_place) {
    for (const Entry& entry : entries_) run(entry, operation, in_place);
  }
  Operation operation(base::DataType type, base::RedOp op, std::size_t count) const {
    return {task_.collective, type, op, task_.ranks, count, task_.root};
  }

  const Tally& tally() {
    count_messages();
    entries_.clear();
    return tally_;
  }

 private:
  struct Entry {
    const collectives::Algorithm* algorithm;
    collectives::Shape shape;
    std::unique_ptr<World> world;
  };

  void run(const Entry& entry, const Operation& operation, bool in_place) {
    if (operation.uneven && !entry.algorithm->uneven) return;
    const auto seed = options_.seed + static_cast<std::uint32_t>(tally_.operations);
    const Placing placing{in_place, seed % 3, operation.uneven ? seed % 4 : 0};
    const std::string wrong = entry.world->run(operation, placing, stepped(seed));
    ++tally_.operations;
    if (wrong.empty()) return;
    FAIL(fmt::format(
        "{} {} {} {}, {} ranks, {} a host, root {}, {} channels, count {}{}{}{}, "
        "seed {}: {}",
        entry.algorithm->name, base::name_of(operation.collective), base::name_of(operation.type),
        base::name_of(operation.op), operation.ranks, entry.shape.ranks_per_host, operation.root,
        entry.shape.channels, operation.count, in_place ? ", in place" : "",
        operation.uneven ? ", uneven" : "", operation.scaled ? ", scaled" : "", seed, wrong));
  }

  void count_messages() {
    for (const Entry& entry : entries_) {
      tally_.messages += entry.world->messages();
      tally_.in_place += entry.world->sent_in_place();
    }
  }

  WireOptions options_;
  std::vector<int> channels_;
  Task task_{};
  std::vector<Entry> entries_;
  Tally tally_;
};

base::DataType type_at(std::size_t i) { return static_cast<base::DataType>(i % heddleNumTypes); }
base::RedOp op_at(std::size_t i) { return static_cast<base::RedOp>(i % heddleNumOps); }

}  // namespace

// The type and the operation reach one call of the device's kernels, whatever the count: so every
// pair meets every algorithm, and the counts take turns.
TEST_CASE("matrix: every type and operation at small counts") {
  const bool zero_copy = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = zero_copy}, {1, 2, 4});
  std::size_t turn = 0;
  for (const Task& task : tasks({1, 2, 3, 4, 5, 6, 8})) {
    matrix.take(task);
    const auto n = static_cast<std::size_t>(task.ranks);
    const std::size_t counts[] = {0, 1, 2, n - 1, n, n + 1, 13, 67, 257};
    for (const std::size_t count : counts) matrix.run_both(heddleFloat32, heddleSum, count);
    for (std::size_t type = 0; type < heddleNumTypes; ++type)
      for (std::size_t op = 0; op < heddleNumOps; ++op)
        if (op == heddleSum || base::reduces(task.collective))
          for (int i = 0; i < 2; ++i)
            matrix.run_both(type_at(type), op_at(op), counts[1 + turn++ % 8]);
    ++turn;  // else every task would have the same pairs
  }
  REQUIRE(matrix.tally().operations > 50'000);
  REQUIRE((matrix.tally().in_place > 0) == zero_copy);
}

TEST_CASE("matrix: messages of many rounds") {
  const bool zero_copy = GENERATE(false, true);
  const bool reluctant = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = reluctant}, {1, 2});
  std::size_t turn = 0;
  for (const Task& task : tasks({2, 3, 4, 6, 8})) {
    matrix.take(task);
    ++turn;
    const bool in_place = has_in_place(task.collective) && turn % 2 == 0;
    matrix.run(matrix.operation(type_at(turn), op_at(turn / heddleNumTypes + turn), 10'007),
               in_place);
    if (turn % 4 == 0) matrix.run(matrix.operation(heddleFloat32, heddleSum, 30'011), in_place);
  }
  REQUIRE(matrix.tally().operations > 300);
  // Otherwise nothing was sent in rounds.
  REQUIRE(matrix.tally().messages > 50 * matrix.tally().operations);
  REQUIRE((matrix.tally().in_place > 0) == zero_copy);
}

TEST_CASE("matrix: blocks of different lengths") {
  const bool zero_copy = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = zero_copy}, {1, 3});
  std::size_t turn = 0;
  for (const Task& task : tasks({1, 2, 3, 4, 5, 8})) {
    matrix.take(task);
    for (const std::size_t count : {1, 2, 67, 5003}) {
      Operation operation = matrix.operation(type_at(turn), op_at(turn / 5), count);
      operation.uneven = true;
      matrix.run(operation, false);
      if (has_in_place(task.collective)) matrix.run(operation, true);
      ++turn;
    }
  }
  REQUIRE(matrix.tally().operations > 1000);
}

TEST_CASE("matrix: pre-scaled sums") {
  const bool zero_copy = GENERATE(false, true);
  Matrix matrix({.zero_copy = zero_copy, .reluctant = zero_copy}, {1, 2});
  std::size_t turn = 0;
  for (const Task& task : tasks({1, 2, 3, 4, 5, 6, 8})) {
    if (!base::reduces(task.collective)) continue;
    matrix.take(task);
    for (const std::size_t count : {1, 67, 2003}) {
      for (const bool in_place : {false, true}) {
        Operation operation = matrix.operation(type_at(turn++), heddleSum, count);
        operation.scaled = true;
        matrix.run(operation, in_place);
        operation.uneven = true;
        matrix.run(operation, in_place);
      }
    }
  }
  REQUIRE(matrix.tally().operations > 1000);
}
