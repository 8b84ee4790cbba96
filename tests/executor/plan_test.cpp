#include "executor/plan.hpp"

#include "catch.hpp"
#include "test_pipe.hpp"
#include "tiny_lanes.hpp"

using namespace heddle;
using namespace heddle::test;
using executor::PipeNeed;
using executor::Plan;
using Direction = executor::PipeNeed::Direction;

TEST_CASE("a plan names every pipe once, sorted") {
  const Plan plan(executor::program_of(tiny(exchange_lane), two_ranks(2), 1), 4096);
  const std::vector<PipeNeed> needs(plan.needs().begin(), plan.needs().end());
  REQUIRE(needs == std::vector<PipeNeed>{{0, 0, Direction::send},
                                         {0, 0, Direction::receive},
                                         {0, 1, Direction::send},
                                         {0, 1, Direction::receive}});
  REQUIRE_FALSE(plan.bound());
}

TEST_CASE("a result written over an input that was sent waits for that send, in place alone") {
  const Plan plan(executor::program_of(tiny(exchange_lane), two_ranks(1), 0), 4096);
  const executor::PlannedLane& lane = plan.lanes()[0];
  REQUIRE(lane.hazards.size() == 1);
  REQUIRE(lane.hazards[0].only_in_place);
  REQUIRE(lane.ends[lane.hazards[0].end].index == 1);
  REQUIRE(lane.moves[0].hazards == 0);
  REQUIRE(lane.moves[1].hazards == 1);
}

TEST_CASE("a result that is kept and sent may leave from where it is kept") {
  const Plan plan(executor::program_of(tiny(fan_lane), two_ranks(1), 0), 4096);
  const executor::PlannedLane& lane = plan.lanes()[0];
  REQUIRE(lane.hazards.empty());
  REQUIRE(lane.ends[lane.moves[0].stage].where == collectives::End::Where::output);
  REQUIRE(lane.ends[3].may_send_in_place);
}

TEST_CASE("an output that is written twice waits for the sends of the first value") {
  const auto lane_of = [](const collectives::Shape&, int rank, int) -> collectives::Lane {
    using namespace collectives;
    if (rank == 1) return {};
    return {
        {0, {input(0)}, {output(0)}}, {0, {output(0)}, {peer(1)}}, {0, {input(0)}, {output(0)}}};
  };
  const Plan plan(executor::program_of(tiny(lane_of), two_ranks(1), 0), 4096);
  const executor::PlannedLane& lane = plan.lanes()[0];
  REQUIRE(lane.moves[2].hazards == 1);
  REQUIRE_FALSE(lane.hazards[0].only_in_place);
  REQUIRE_FALSE(lane.ends[lane.moves[0].first_end + 1].last_use);
  REQUIRE(lane.ends[lane.moves[2].first_end + 1].last_use);
}

TEST_CASE("pipes with smaller slots than planned are refused") {
  struct Table final : executor::PipeTable {
    Wire wire{WireOptions{}};
    transport::SendPipe& to(int, int) override { return wire; }
    transport::ReceivePipe& from(int, int) override { return wire; }
  } table;
  Plan fits(executor::program_of(tiny(exchange_lane), two_ranks(1), 0), 4096);
  fits.bind(table);
  REQUIRE(fits.bound());
  REQUIRE(fits.send_pipe(0) == &table.wire);
  REQUIRE(fits.send_pipe(1) == nullptr);
  Plan larger(executor::program_of(tiny(exchange_lane), two_ranks(1), 0), 8192);
  REQUIRE_THROWS_WITH(larger.bind(table), Catch::Contains("slots of 4096 bytes, need 8192"));
}
