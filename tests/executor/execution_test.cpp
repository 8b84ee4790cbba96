#include "executor/host/execution.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "allocations.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "tiny_lanes.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;
using executor::Execution;
using State = executor::Execution::State;

namespace {

// Floats of one operation on two ranks.
struct Floats {
  explicit Floats(std::size_t count) : input(count), output(count) {}
  executor::Buffers buffers() {
    return {reinterpret_cast<const std::byte*>(input.data()),
            reinterpret_cast<std::byte*>(output.data()), input.size(), heddleFloat32, heddleSum};
  }
  std::vector<float> input;
  std::vector<float> output;
};

Operation floats(std::size_t count) {
  return {base::Collective::all_reduce, heddleFloat32, heddleSum, 2, count};
}

}  // namespace

TEST_CASE("a new execution is done, and so is one of nothing") {
  World world(tiny(exchange_lane), two_ranks(1), {});
  REQUIRE(world.execution(0).advance() == State::done);
  world.execution(0).reset({nullptr, nullptr, 0, heddleFloat32, heddleSum});
  REQUIRE(world.execution(0).advance() == State::done);
  REQUIRE(world.execution(0).waiting_for() == "nothing");
  REQUIRE(world.execution(0).waiting_on_rank() == -1);
  REQUIRE(world.messages() == 0);
}

TEST_CASE("a blocked execution names whom it waits for") {
  World world(tiny(exchange_lane), two_ranks(1), {.slots = 4});
  Floats data(1024), long_data(10 * 1024);
  Execution& execution = world.execution(0);
  execution.reset(data.buffers());
  REQUIRE(execution.advance() == State::moved);
  REQUIRE(execution.advance() == State::blocked);
  REQUIRE(execution.waiting_for() == "data from rank 1 on channel 0, round 1 of 1, move 2");
  REQUIRE(execution.waiting_on_rank() == 1);
  execution.reset(long_data.buffers());
  REQUIRE(execution.advance() == State::moved);
  REQUIRE(execution.advance() == State::blocked);
  REQUIRE(execution.waiting_for() ==
          "the same call from rank 1 on channel 0, round 1 of 10, move 2");
  REQUIRE(execution.waiting_on_rank() == 1);
}

TEST_CASE("a deadlocked schedule is blocked, not looping") {
  World world(tiny(stuck_lane), two_ranks(1), {});
  const std::string wrong = world.run(floats(1), {}, stepped(1));
  REQUIRE_THAT(wrong,
               Catch::Contains("rank 0 waits for data from rank 1 on channel 0, round 1 of 1, "
                               "move 1"));
  REQUIRE_THAT(wrong, Catch::Contains("rank 1 waits for data from rank 0"));
}

TEST_CASE("a full pipe and unsent memory are named") {
  const auto lane_of = [](const collectives::Shape&, int rank, int channel) -> collectives::Lane {
    using namespace collectives;
    if (rank == 0) return {{channel, {input(0)}, {peer(1)}}};
    return {{channel, {peer(0)}, {output(0)}}};
  };
  World world(tiny(lane_of), two_ranks(1), {.slots = 4});
  Floats data(5 * 1024);
  Execution& sender = world.execution(0);
  sender.reset(data.buffers());
  while (sender.advance() == State::moved) {
  }
  REQUIRE(sender.waiting_for() == "a free slot to rank 1 on channel 0, round 4 of 5, move 1");
  REQUIRE(sender.waiting_on_rank() == 1);
}

TEST_CASE(
    "sends in place: nothing is copied, and buffers stay busy until the tickets are through") {
  World world(tiny(fan_lane), two_ranks(1), {.zero_copy = true, .reluctant = true, .seed = 5});
  for (std::uint32_t seed = 1; seed < 50; ++seed) {
    REQUIRE(world.run(floats(5000), {.in_place = seed % 2 == 0}, stepped(seed)) == "");
  }
  REQUIRE(world.sent_in_place() > 0);
  REQUIRE(world.sent_in_place() < world.messages());  // the pipe refused some: those were copied
  World willing(tiny(fan_lane), two_ranks(1), {.zero_copy = true});
  REQUIRE(willing.run(floats(5000), {.in_place = true}, stepped(1)) == "");
  REQUIRE(willing.sent_in_place() == willing.messages() - 2);  // the signatures
}

TEST_CASE("an operation in place waits for the sends that its results would overwrite") {
  World world(tiny(exchange_lane), two_ranks(2), {.zero_copy = true, .reluctant = true, .seed = 9});
  for (std::uint32_t seed = 1; seed < 200; ++seed) {
    REQUIRE(world.run(floats(3000), {.in_place = true}, stepped(seed)) == "");
  }
  REQUIRE(world.sent_in_place() > 0);
}

TEST_CASE("a ticket that is not through keeps the operation from being done") {
  // Reads the sender's memory when told to and not before.
  struct Slow final : transport::SendPipe {
    bool through = false;
    std::byte* acquire(std::size_t) override { return nullptr; }
    void commit(std::size_t) override {}
    std::optional<std::uint64_t> send_from(const std::byte*, std::size_t) override { return 7; }
    bool sent(std::uint64_t ticket) override { return through && ticket == 7; }
    bool sends_in_place(std::size_t) const override { return true; }
    std::size_t slot_bytes() const override { return 4096; }
  } slow;
  struct Table final : executor::PipeTable {
    explicit Table(Slow& slow_pipe) : slow_(slow_pipe) {}
    transport::SendPipe& to(int, int) override { return slow_; }
    transport::ReceivePipe& from(int, int) override { return wire_; }
    Slow& slow_;
    Wire wire_{WireOptions{}};
  } table(slow);
  executor::Plan plan(executor::program_of(tiny(exchange_lane), two_ranks(1), 0), 4096);
  plan.bind(table);
  Execution execution(plan);
  Floats data(100);
  executor::Buffers buffers = data.buffers();
  const std::vector<float> ones(100, 1.0F);
  const auto arrive = [&] {
    std::memcpy(table.wire_.acquire(400), ones.data(), 400);
    table.wire_.commit(400);
  };

  arrive();
  execution.reset(buffers);
  REQUIRE(execution.advance() == State::moved);
  REQUIRE(data.output == ones);
  REQUIRE(execution.advance() == State::blocked);
  REQUIRE(execution.waiting_for() == "the last send to rank 1 on channel 0");
  REQUIRE(execution.waiting_on_rank() == 1);
  slow.through = true;
  REQUIRE(execution.advance() == State::done);

  // In place, the result may not even be written.
  slow.through = false;
  arrive();
  buffers.output = reinterpret_cast<std::byte*>(data.input.data());
  execution.reset(buffers);
  REQUIRE(execution.advance() == State::moved);
  REQUIRE(data.input == std::vector<float>(100, 0.0F));
  REQUIRE(execution.advance() == State::blocked);
  REQUIRE(execution.waiting_for() ==
          "the end of an earlier send to rank 1 on channel 0, round 1 of 1, move 2");
  slow.through = true;
  REQUIRE(execution.advance() == State::done);
  REQUIRE(data.input == ones);
}

TEST_CASE("what a broken pipe throws passes through") {
  struct Broken final : transport::ReceivePipe {
    const std::byte* peek(std::size_t) override {
      base::fail(heddleRemoteError, "rank 1 on host b is gone");
    }
    void release() override {}
    std::size_t slot_bytes() const override { return 4096; }
  };
  struct Table final : executor::PipeTable {
    transport::SendPipe& to(int, int) override { return wire; }
    transport::ReceivePipe& from(int, int) override { return broken; }
    Wire wire{WireOptions{}};
    Broken broken;
  } table;
  executor::Plan plan(executor::program_of(tiny(exchange_lane), two_ranks(1), 0), 4096);
  plan.bind(table);
  Execution execution(plan);
  Floats data(1);
  execution.reset(data.buffers());
  REQUIRE_THROWS_WITH(execution.advance(), "rank 1 on host b is gone");
  REQUIRE(execution.waiting_on_rank() == 1);
}

TEST_CASE("outputs past the caches are written around them, with the same result") {
  // Over kStreamingBytes; the wires are wide enough that it takes few rounds.
  World world(tiny(fan_lane), two_ranks(2), {.slot_bytes = std::size_t{1} << 20});
  const std::size_t count = Execution::kStreamingBytes / sizeof(float) + 1009;
  REQUIRE(world.run(floats(count), {.misaligned = 1}, stepped(3)) == "");
  REQUIRE(world.run(floats(count), {.in_place = true}, stepped(4)) == "");
}

TEST_CASE("a turn is bounded, so that others get theirs") {
  const auto lane_of = [](const collectives::Shape&, int, int channel) -> collectives::Lane {
    return {{channel, {collectives::input(0)}, {collectives::output(0)}}};
  };
  World world(tiny(lane_of), {base::Collective::all_reduce, 1, 1}, {});
  Floats data(4 * Execution::kTurnBytes / sizeof(float));
  world.execution(0).reset(data.buffers());
  for (int turn = 0; turn < 3; ++turn) REQUIRE(world.execution(0).advance() == State::moved);
  REQUIRE(world.execution(0).advance() == State::done);
}

TEST_CASE("an operation allocates nothing") {
  World world(tiny(exchange_lane), two_ranks(2), {.zero_copy = true});
  std::array<Floats, 2> data{Floats(5000), Floats(5000)};
  const std::size_t before = allocations();
  for (int operation = 0; operation < 3; ++operation) {
    for (std::size_t rank : {0, 1}) world.execution(rank).reset(data[rank].buffers());
    bool done = false;
    while (!done) {
      const bool first = world.execution(0).advance() == State::done;
      done = world.execution(1).advance() == State::done && first;
    }
  }
  REQUIRE(allocations() == before);
  REQUIRE(std::make_unique<int>(1) != nullptr);
  REQUIRE(allocations() > before);  // the counter counts
}
