// Nothing is allocated or first touched per operation: blocking calls on a communicator that has
// run the same before.
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr int kRanks = 3;
// Few: a batch must fit between two heartbeats, which allocate, on a busy machine too.
constexpr int kOperations = 20;
constexpr int kBatches = 500;

// Of the whole process: ranks are threads, and some of the work is done by others.
struct Cost {
  std::size_t allocations = 0;
  long faults = 0;

  bool operator==(const Cost&) const = default;
};

Cost cost_until_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {allocations(), usage.ru_minflt};
}

Cost operator-(const Cost& a, const Cost& b) {
  return {a.allocations - b.allocations, a.faults - b.faults};
}

// What each batch of operations costs all ranks together, until one costs nothing or there have
// been kBatches. The first ones touch what is touched once: a process's buffers for small messages
// are filled in turn.
std::vector<Cost> costs_of_batches(std::size_t count, const std::string& settings) {
  std::vector<Cost> costs;
  costs.reserve(kBatches);
  std::atomic<bool> steady{false};
  run_ranks(
      kRanks,
      [&](Communicator& communicator, int rank) {
        std::vector<float> send(count, 1.0F), receive(count);
        for (int batch = 0; batch < kBatches && !steady; ++batch) {
          communicator.barrier();
          const Cost before = cost_until_now();
          for (int i = 0; i < kOperations; ++i) communicator.all_reduce(send, receive, Op::sum);
          communicator.barrier();
          if (rank == 0) {
            costs.push_back(cost_until_now() - before);
            steady = costs.back() == Cost{};
          }
          communicator.barrier();
        }
        expect(receive.back() == kRanks, "all-reduce is wrong");
      },
      settings);
  return costs;
}

}  // namespace

TEST_CASE("a blocking operation allocates nothing and touches no new memory") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  // An eager message, one that is not, and several rounds.
  const std::size_t count = GENERATE(1, 5'000, 200'000);
  const std::vector<Cost> costs = costs_of_batches(count, how);
  REQUIRE(!costs.empty());
  INFO(how << ", " << count << " elements, batch " << costs.size());
  CHECK(costs.back().allocations == 0);
  CHECK(costs.back().faults == 0);
}

TEST_CASE("what is allocated and touched is counted") {
  const Cost before = cost_until_now();
  const auto memory = std::make_unique<std::array<char, 1 << 20>>();
  memory->fill(1);
  const Cost cost = cost_until_now() - before;
  CHECK(cost.allocations > 0);
  CHECK(cost.faults > 0);
}

}  // namespace heddle::test
