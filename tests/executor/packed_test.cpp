// Messages of several chunks (End::more): put together in one slot, taken apart in one.
#include "catch.hpp"
#include "tiny_lanes.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;

namespace {

// Rank 1's block twice in one message, with another move between its chunks; rank 0 reads both.
collectives::Lane gather_lane(const collectives::Shape&, int rank, int channel) {
  using namespace collectives;
  if (rank == 1)
    return {{channel, {input(0)}, {peer(0, true)}},
            {channel, {input(0)}, {output(1)}},
            {channel, {input(0)}, {peer(0)}},
            {channel, {peer(0)}, {output(0)}}};
  return {{channel, {input(0)}, {output(0), peer(1)}},
          {channel, {peer(1, true)}, {output(1)}},
          {channel, {peer(1)}, {output(1)}}};
}

collectives::Algorithm packed(collectives::Lane (*lane)(const collectives::Shape&, int, int)) {
  collectives::Algorithm algorithm = tiny(lane);
  algorithm.supports = [](base::Collective c) { return c == base::Collective::all_gather; };
  algorithm.parts = [](const collectives::Shape&) { return 2; };
  return algorithm;
}

const collectives::Shape kGather{base::Collective::all_gather, 2, 1};

}  // namespace

TEST_CASE("two chunks are one message, and half of a slot each") {
  World world(packed(gather_lane), kGather, {});
  // 1024 floats fill a slot, so that 513 are two rounds of two chunks.
  REQUIRE(world.run({base::Collective::all_gather, heddleFloat32, heddleSum, 2, 512}, {},
                    stepped(1)) == "");
  REQUIRE(world.messages() == 2);
  REQUIRE(world.run({base::Collective::all_gather, heddleFloat32, heddleSum, 2, 513}, {},
                    stepped(1)) == "");
  REQUIRE(world.messages() == 2 + 2 + 4);  // with a signature of each rank
}

TEST_CASE("chunks of a message are never sent in place, others are") {
  World world(packed(gather_lane), kGather, {.zero_copy = true});
  REQUIRE(world.run({base::Collective::all_gather, heddleFloat32, heddleSum, 2, 100}, {},
                    stepped(1)) == "");
  REQUIRE(world.messages() == 2);
  REQUIRE(world.sent_in_place() == 1);  // rank 0's single chunk
}

TEST_CASE("packed messages over pipes that say not yet, in every type's size and many rounds") {
  for (const bool zero_copy : {false, true}) {
    World gather(packed(gather_lane), kGather,
                 {.zero_copy = zero_copy, .reluctant = true, .seed = 3});
    std::uint32_t seed = 0;
    for (const auto type : {heddleUint8, heddleFloat16, heddleInt32, heddleFloat64})
      for (const std::size_t count : {1, 31, 512, 5003}) {
        const bool in_place = seed % 2 == 0;
        REQUIRE(gather.run({base::Collective::all_gather, type, heddleSum, 2, count},
                           {.in_place = in_place}, stepped(++seed)) == "");
      }
  }
}

TEST_CASE("a message that does not end with the lane is refused") {
  const auto lane_of = [](const collectives::Shape&, int rank, int) -> collectives::Lane {
    using namespace collectives;
    if (rank == 1) return {};
    return {{0, {input(0)}, {peer(1, true)}}};
  };
  const auto program = executor::program_of(packed(lane_of), kGather, 0);
  REQUIRE_THROWS_WITH(executor::Plan(program, 4096), Catch::Contains("does not end"));
}

TEST_CASE("a message of more chunks than the algorithm says is refused") {
  const auto lane_of = [](const collectives::Shape&, int rank, int) -> collectives::Lane {
    using namespace collectives;
    if (rank == 1) return {};
    return {{0, {input(0)}, {peer(1, true)}},
            {0, {input(0)}, {peer(1, true)}},
            {0, {input(0)}, {peer(1)}}};
  };
  const auto program = executor::program_of(packed(lane_of), kGather, 0);
  REQUIRE_THROWS_WITH(executor::Plan(program, 4096), Catch::Contains("3 parts of at most 2"));
}
