// Blocks of different lengths, pre-scaled inputs, and sends and receives in sequence, in lanes made
// by hand.
#include <fmt/format.h>

#include <array>

#include "catch.hpp"
#include "tiny_lanes.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;
using executor::Direction;
using executor::Execution;
using State = executor::Execution::State;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_from(int first, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(first) * 31 + i * 7 + i / 256);
  return bytes;
}

executor::Block block(const Bytes& bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// Sends of rank 0 to rank 1, as one program at each end.
class Transfers {
 public:
  explicit Transfers(const std::vector<std::size_t>& lengths, const WireOptions& options = {})
      : world_({executor::transfers(Direction::send, 1, static_cast<int>(lengths.size()), 0, 2),
                executor::transfers(Direction::receive, 0, static_cast<int>(lengths.size()), 1, 2)},
               options) {
    for (const std::size_t length : lengths) {
      sent_.push_back(bytes_from(static_cast<int>(sent_.size()), length));
      received_.emplace_back(length);
      blocks_[0].inputs.push_back(block(sent_.back()));
      blocks_[1].outputs.push_back(block(received_.back()));
    }
  }
  void start() {
    for (std::size_t rank : {0, 1}) {
      executor::Buffers buffers{nullptr, nullptr, 0, heddleUint8, heddleSum};
      buffers.blocks = &blocks_[rank];
      world_.execution(rank).reset(buffers);
    }
  }
  World& world() { return world_; }
  std::array<executor::Blocks, 2>& blocks() { return blocks_; }
  bool right() const { return sent_ == received_; }

 private:
  World world_;
  std::vector<Bytes> sent_;
  std::vector<Bytes> received_;
  std::array<executor::Blocks, 2> blocks_;
};

constexpr std::size_t kLong = 64 * 1024;

}  // namespace

TEST_CASE("transfers come in sequence, of any length and over any pipe") {
  for (const bool zero_copy : {false, true}) {
    Transfers transfers({0, 1, 5000, 0, 64, kLong - 1, kLong, 4096, 3 * kLong + 1, 0},
                        {.zero_copy = zero_copy, .reluctant = true});
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      transfers.start();
      REQUIRE(stepped(seed)(transfers.world()) == "");
      REQUIRE(transfers.right());
      REQUIRE(transfers.world().leftovers() == "");
    }
  }
}

TEST_CASE("all of a transfer goes before any of the next") {
  Transfers transfers({9000, 10}, {.slots = 5});
  transfers.start();
  // The sender fills the slots with the length and three parts of the first, and the second.
  while (transfers.world().execution(0).advance() != State::done) {
  }
  REQUIRE(transfers.world().messages() == 5);
  REQUIRE(transfers.world().execution(0).waiting_for() == "nothing");
}

TEST_CASE("a transfer that waits says for whom, and how far it is") {
  Transfers transfers({5, 30'000}, {.slots = 4});
  transfers.start();
  Execution& receiver = transfers.world().execution(1);
  REQUIRE(receiver.advance() == State::blocked);
  REQUIRE(receiver.waiting_on_rank() == 0);
  REQUIRE_THAT(receiver.waiting_for(),
               Catch::Contains("data from rank 0") && Catch::Contains("round 1 of 1, move 1"));
  Execution& sender = transfers.world().execution(0);
  while (sender.advance() != State::blocked) {
  }
  REQUIRE_THAT(sender.waiting_for(),
               Catch::Contains("a free slot to rank 1") && Catch::Contains("round 3 of 8, move 2"));
}

TEST_CASE("long transfers of different lengths are an error that says both") {
  Transfers transfers({2 * kLong});
  transfers.blocks()[1].outputs[0].count = kLong;
  transfers.start();
  transfers.world().execution(0).advance();
  REQUIRE_THROWS_WITH(transfers.world().execution(1).advance(),
                      Catch::Contains("rank 0 and rank 1 differ") &&
                          Catch::Contains("131072 bytes there, 65536 here"));
}

TEST_CASE("transfers of one message are compared where it does not tell its length") {
  for (const auto& [sent, expected] : {std::pair(3000, 2000), std::pair(2000, 3000)}) {
    Transfers transfers({static_cast<std::size_t>(sent)}, {.told_length = 1000});
    transfers.blocks()[1].outputs[0].count = static_cast<std::size_t>(expected);
    transfers.start();
    transfers.world().execution(0).advance();
    REQUIRE_THROWS_WITH(transfers.world().execution(1).advance(),
                        Catch::Contains("rank 0 and rank 1 differ"));
  }
}

TEST_CASE("what a longer transfer begins with is never taken for a shorter one") {
  Transfers transfers({9000});
  transfers.blocks()[1].outputs[0].count = 24;  // as many as a signature has
  transfers.start();
  transfers.world().execution(0).advance();
  REQUIRE_THROWS_WITH(transfers.world().execution(1).advance(),
                      Catch::Contains("blocks of 9000 bytes there, others here"));
}

TEST_CASE("a transfer of nothing meets only one of nothing") {
  for (const auto& [sent, expected] : {std::pair(0, 4), std::pair(4, 0), std::pair(0, 24),
                                       std::pair(24, 0), std::pair(0, 9000), std::pair(9000, 0)}) {
    CAPTURE(sent, expected);
    Transfers transfers({static_cast<std::size_t>(sent), 4});
    transfers.blocks()[1].outputs[0].count = static_cast<std::size_t>(expected);
    transfers.start();
    transfers.world().execution(0).advance();
    REQUIRE_THROWS(transfers.world().execution(1).advance());
  }
}

TEST_CASE("a receive of nothing waits for its send, and says so") {
  Transfers transfers({0, 0});
  transfers.start();
  Execution& receiver = transfers.world().execution(1);
  REQUIRE(receiver.advance() == State::blocked);
  REQUIRE_THAT(receiver.waiting_for(), Catch::Contains("the length of data from rank 0") &&
                                           Catch::Contains("round 1 of 1, move 1"));
  REQUIRE(stepped(1)(transfers.world()) == "");
  REQUIRE(transfers.world().messages() == 2);
}

TEST_CASE("equal blocks of other lengths on another rank are an error that says both") {
  // Over pipes that tell no length, in one round; and in several over pipes that tell it.
  struct Case {
    std::size_t count, other, told_length;
  };
  const auto c = GENERATE(Case{500, 501, 100}, Case{4096, 8192, transport::SendPipe::kEveryLength});
  World world(*collectives::algorithm_named("ring"), {base::Collective::all_reduce, 2, 1},
              {.told_length = c.told_length});
  std::vector<float> memory(3 * c.other);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto* const at = reinterpret_cast<std::byte*>(memory.data());
    world.execution(rank).reset({at, at + c.other * sizeof(float), rank == 0 ? c.count : c.other,
                                 heddleFloat32, heddleSum});
  }
  world.execution(0).advance();
  REQUIRE_THROWS_WITH(
      world.execution(1).advance(),
      Catch::Contains("rank 0 and rank 1 differ") &&
          Catch::Contains(fmt::format("{} bytes there, {} here", 4 * c.count, 4 * c.other)));
}

TEST_CASE("other calls of as many bytes are an error") {
  World world(*collectives::algorithm_named("ring"), {base::Collective::all_reduce, 2, 1},
              {.told_length = 100});
  std::vector<float> memory(1000);
  auto* const at = reinterpret_cast<std::byte*>(memory.data());
  world.execution(0).reset({at, at + 2000, 500, heddleFloat32, heddleSum});
  world.execution(1).reset({at, at + 2000, 500, heddleInt32, heddleSum});
  world.execution(0).advance();
  REQUIRE_THROWS_WITH(world.execution(1).advance(),
                      Catch::Contains("rank 0 and rank 1 make different calls"));
}

TEST_CASE("a transfer to oneself is a copy of each block") {
  World world({executor::transfers(Direction::send, 0, 3, 0, 1)}, {});
  const std::vector<Bytes> sent = {bytes_from(1, 10), bytes_from(2, 0), bytes_from(3, 300'000)};
  std::vector<Bytes> received = {Bytes(10), Bytes(0), Bytes(300'000)};
  executor::Blocks blocks;
  for (std::size_t i = 0; i < 3; ++i) {
    blocks.inputs.push_back(block(sent[i]));
    blocks.outputs.push_back(block(received[i]));
  }
  executor::Buffers buffers{nullptr, nullptr, 0, heddleUint8, heddleSum};
  buffers.blocks = &blocks;
  world.execution(0).reset(buffers);
  REQUIRE(stepped(1)(world) == "");
  REQUIRE(sent == received);
  REQUIRE(world.messages() == 0);
}

TEST_CASE("blocks that are all empty move nothing but their lengths") {
  World world(*collectives::algorithm_named("ring"), {base::Collective::all_gather, 3, 2}, {});
  executor::Blocks blocks{{{nullptr, 0}}, {{nullptr, 0}, {nullptr, 0}, {nullptr, 0}}};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    executor::Buffers buffers{nullptr, nullptr, 0, heddleFloat32, heddleSum};
    buffers.blocks = &blocks;
    world.execution(rank).reset(buffers);
  }
  REQUIRE(stepped(1)(world) == "");
  REQUIRE(world.messages() == 3 * 2);  // one for each rank's channel to the next
}

TEST_CASE("lengths that two ranks see differently are an error that names both") {
  World world(*collectives::algorithm_named("ring"), {base::Collective::all_gather, 2, 1}, {});
  std::vector<float> memory(100);
  const auto at = [&](std::size_t count) {
    return executor::Block{reinterpret_cast<std::byte*>(memory.data()), count};
  };
  const executor::Blocks blocks[] = {{{at(5)}, {at(5), at(7)}}, {{at(8)}, {at(5), at(8)}}};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    executor::Buffers buffers{nullptr, nullptr, 8, heddleFloat32, heddleSum};
    buffers.blocks = &blocks[rank];
    world.execution(rank).reset(buffers);
  }
  world.execution(1).advance();
  REQUIRE_THROWS_WITH(world.execution(0).advance(), Catch::Contains("rank 1 and rank 0 differ") &&
                                                        Catch::Contains("32 bytes there, 28 here"));
}

TEST_CASE("an input that is scaled is never sent in place, and is scaled once") {
  for (const bool in_place : {false, true}) {
    World world(tiny(exchange_lane), two_ranks(2), {.zero_copy = true, .reluctant = true});
    Operation operation{base::Collective::all_reduce, heddleFloat32, heddleSum, 2, 3000};
    REQUIRE(world.run(operation, {.in_place = in_place}, stepped(1)) == "");
    const std::uint64_t unscaled = world.sent_in_place();
    REQUIRE(unscaled > 0);
    operation.scaled = true;
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      REQUIRE(world.run(operation, {.in_place = in_place}, stepped(seed)) == "");
    REQUIRE(world.sent_in_place() == unscaled);
  }
}

TEST_CASE("a result of scaled inputs may leave from where it is kept") {
  World world(tiny(fan_lane), two_ranks(1), {.zero_copy = true});
  Operation operation{base::Collective::all_reduce, heddleInt32, heddleSum, 2, 1000};
  operation.scaled = true;
  for (const bool in_place : {false, true})
    REQUIRE(world.run(operation, {.in_place = in_place}, stepped(1)) == "");
  REQUIRE(world.sent_in_place() == 2);  // of rank 0's sums; rank 1's input is copied
}

TEST_CASE("the scaled copy of a chunk onto itself is made, though an unscaled one is not") {
  const auto lane_of = [](const collectives::Shape&, int, int channel) -> collectives::Lane {
    return {{channel, {collectives::input(0)}, {collectives::output(0)}, true}};
  };
  World world(tiny(lane_of), {base::Collective::all_reduce, 1, 1}, {});
  Operation operation{base::Collective::all_reduce, heddleFloat64, heddleSum, 1, 1000};
  REQUIRE(world.run(operation, {.in_place = true}, stepped(1)) == "");
  operation.scaled = true;
  REQUIRE(world.run(operation, {.in_place = true}, stepped(1)) == "");
}
