// Schedules that are wrong in one way each, written by hand or made from a right one: the verifier
// names what is wrong, and where.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "collectives/verify.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kAllGather = base::Collective::all_gather;
constexpr auto kReduceScatter = base::Collective::reduce_scatter;

Schedule made_by(std::string_view name, base::Collective collective, int ranks, int channels = 1) {
  return schedule_of(*algorithm_named(name), {collective, ranks, channels});
}

// One channel, lanes[rank].
Schedule table(base::Collective collective, int pieces, const std::vector<Lane>& lanes) {
  Schedule schedule{{collective, static_cast<int>(lanes.size()), 1}, pieces, {}};
  for (const Lane& lane : lanes) schedule.lanes.push_back({lane});
  return schedule;
}

// Two ranks that swap inputs and both reduce them in rank order: right.
Schedule exchange() {
  return table(kAllReduce, 1,
               {{{0, {input(0)}, {peer(1)}}, {0, {input(0), peer(1)}, {output(0)}, true}},
                {{0, {input(0)}, {peer(0)}}, {0, {peer(0), input(0)}, {output(0)}, true}}});
}

void check_fault(const Schedule& schedule, FaultKind kind, int rank, int move,
                 const VerifyOptions& options = {}) {
  const auto fault = verify(schedule, options);
  REQUIRE(fault);
  INFO(fault->text);
  CHECK(name_of(fault->kind) == name_of(kind));
  CHECK(fault->rank == rank);
  CHECK(fault->move == move);
  if (rank >= 0) CHECK(fault->text.find("rank " + std::to_string(rank)) == 0);
  if (move >= 0)
    CHECK(fault->text.find("move " + std::to_string(move) + " (piece") != std::string::npos);
}

TEST_CASE("a table of lanes that no algorithm made can be proved") {
  CHECK_FALSE(verify(exchange()));
  CHECK_FALSE(verify(exchange(), {.in_place = true}));
  CHECK(slots_needed(exchange()) == 1);
}

TEST_CASE("missing contribution: a rank forgets its own input") {
  Schedule schedule = exchange();
  schedule.lanes[1][0][1] = {0, {peer(0)}, {output(0)}};
  check_fault(schedule, FaultKind::missing_contribution, 1, 1);
}

TEST_CASE("missing contribution: a piece of the output is never written") {
  Schedule schedule = made_by("ring", kAllGather, 4);
  auto& destinations = schedule.lanes[2][0][1].destinations;
  destinations.erase(destinations.begin());
  check_fault(schedule, FaultKind::missing_contribution, 2, -1);
}

TEST_CASE("missing contribution: more pieces than anybody writes, told before memory is taken") {
  Schedule schedule = table(kAllGather, 1 << 20, std::vector<Lane>(64));
  check_fault(schedule, FaultKind::missing_contribution, 0, -1);
  CHECK(slots_needed(schedule) == 0);
}

TEST_CASE("missing contribution: a link of a chain of sums is passed on without adding") {
  Schedule schedule = made_by("ring", kReduceScatter, 5);
  schedule.lanes[3][0][2].sources = {peer(2)};
  // Noticed first where the chain ends, at rank 0, and then as a mark that is not deserved.
  check_fault(schedule, FaultKind::wrong_completes, 0, 4);
  schedule.lanes[0][0][4].completes = false;
  check_fault(schedule, FaultKind::missing_contribution, 0, 4);
}

TEST_CASE("doubled contribution: an input added twice") {
  Schedule schedule = exchange();
  schedule.lanes[0][0][1].sources.push_back(input(0));
  check_fault(schedule, FaultKind::doubled_contribution, 0, 1);
}

TEST_CASE("doubled contribution: a partial sum arrives by two ways") {
  // Rank 1 adds rank 0's part, and rank 2 gets it from both.
  const Schedule schedule =
      table(kAllReduce, 1,
            {{{0, {input(0)}, {peer(1), peer(2)}}, {0, {peer(2)}, {output(0)}}},
             {{0, {peer(0), input(0)}, {peer(2)}}, {0, {peer(2)}, {output(0)}}},
             {{0, {peer(0), peer(1), input(0)}, {output(0), peer(0), peer(1)}, true}}});
  check_fault(schedule, FaultKind::doubled_contribution, 2, 0);
}

TEST_CASE("doubled contribution: a complete result is added to again") {
  Schedule schedule = made_by("two-shot", kAllReduce, 3);
  Move& last = schedule.lanes[1][0].back();
  last.sources.push_back(input(0));
  check_fault(schedule, FaultKind::doubled_contribution, 1, 4);
}

TEST_CASE("deadlock: everybody receives before sending") {
  Schedule schedule = exchange();
  for (auto& lanes : schedule.lanes) std::swap(lanes[0][0], lanes[0][1]);
  check_fault(schedule, FaultKind::deadlock, 0, 0, {.slots = 100});
  CHECK(slots_needed(schedule) == 0);
}

TEST_CASE("deadlock: a message that nobody sends") {
  Schedule schedule = exchange();
  schedule.lanes[1][0].erase(schedule.lanes[1][0].begin());
  check_fault(schedule, FaultKind::deadlock, 0, 1, {.slots = 100});
}

TEST_CASE("deadlock: more messages under way than slots") {
  std::vector<Lane> lanes(2);
  for (int rank = 0; rank < 2; ++rank) {
    Lane& lane = lanes[static_cast<std::size_t>(rank)];
    const End other = peer(1 - rank);
    for (int piece = 0; piece < 3; ++piece) lane.push_back({piece, {input(0)}, {other}});
    for (int piece = 0; piece < 3; ++piece)
      lane.push_back({piece,
                      rank == 0 ? std::vector{input(0), other} : std::vector{other, input(0)},
                      {output(0)},
                      true});
  }
  const Schedule schedule = table(kAllReduce, 3, lanes);
  CHECK_FALSE(verify(schedule, {.slots = 3}));
  check_fault(schedule, FaultKind::deadlock, 0, 2, {.slots = 2});
  CHECK(slots_needed(schedule) == 3);
}

TEST_CASE("deadlock: a ring with a single slot, and who waits for whom is said") {
  const Schedule schedule = made_by("ring", kAllReduce, 3);
  const auto fault = verify(schedule, {.slots = 1});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::deadlock);
  CHECK(fault->text.find("waits for a free slot to rank 1, which at its move 1 waits for a free "
                         "slot to rank 2, which at its move 1 waits for a free slot to rank 0") !=
        std::string::npos);
}

TEST_CASE("deadlock: a tree that reduces all pieces before it broadcasts any") {
  Schedule schedule = made_by("tree", kAllReduce, 64);
  CHECK_FALSE(verify(schedule, {.slots = 2}));
  for (auto& lanes : schedule.lanes)
    std::stable_partition(lanes[0].begin(), lanes[0].end(), [](const Move& move) {
      return std::find(move.sources.begin(), move.sources.end(), input(0)) != move.sources.end();
    });
  const auto fault = verify(schedule, {.slots = 2});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::deadlock);
  CHECK(slots_needed(schedule) == 3);
}

TEST_CASE("overwritten input: all-reduce sends its input after the result took its place") {
  const Schedule schedule =
      table(kAllReduce, 1,
            {{{0, {input(0), peer(1)}, {output(0)}, true}, {0, {input(0)}, {peer(1)}}},
             {{0, {input(0)}, {peer(0)}}, {0, {peer(0), input(0)}, {output(0)}, true}}});
  CHECK_FALSE(verify(schedule));
  check_fault(schedule, FaultKind::overwritten_input, 0, 1, {.in_place = true});
}

TEST_CASE("overwritten input: reduce-scatter keeps a partial sum in its output") {
  // Rank 0 parks the block that it received in its output, which in place is its own input.
  const Schedule schedule =
      table(kReduceScatter, 1,
            {{{0, {input(1)}, {peer(1)}},
              {0, {peer(1)}, {output(0)}},
              {0, {output(0), input(0)}, {output(0)}, true}},
             {{0, {input(0)}, {peer(0)}}, {0, {peer(0), input(1)}, {output(0)}, true}}});
  CHECK_FALSE(verify(schedule));
  check_fault(schedule, FaultKind::overwritten_input, 0, 2, {.in_place = true});
}

TEST_CASE("overwritten input: all-gather stages another's block in its own place") {
  const Schedule schedule =
      table(kAllGather, 1,
            {{{0, {peer(1)}, {output(0), output(1)}}, {0, {input(0)}, {output(0), peer(1)}}},
             {{0, {input(0)}, {output(1), peer(0)}}, {0, {peer(0)}, {output(0)}}}});
  CHECK_FALSE(verify(schedule));
  check_fault(schedule, FaultKind::overwritten_input, 0, 1, {.in_place = true});
}

TEST_CASE("overwritten output: a result is written over by a partial sum") {
  Schedule schedule = exchange();
  schedule.lanes[0][0].push_back({0, {input(0)}, {output(0)}});
  check_fault(schedule, FaultKind::missing_contribution, 0, 2);
}

TEST_CASE("unwritten output: read before anything was written there") {
  Schedule schedule = exchange();
  schedule.lanes[0][0][0].sources = {output(0)};
  check_fault(schedule, FaultKind::unwritten_output, 0, 0);
  check_fault(schedule, FaultKind::unwritten_output, 0, 0, {.in_place = true});
}

TEST_CASE("unwritten output: what an earlier round wrote is another part of the buffer") {
  Schedule schedule = exchange();
  // Right in the second round only if rounds shared their chunks.
  schedule.lanes[0][0].insert(schedule.lanes[0][0].begin() + 1, {0, {output(0)}, {output(0)}});
  check_fault(schedule, FaultKind::unwritten_output, 0, 1);
}

TEST_CASE("wrong piece: two sends change places") {
  Schedule schedule = made_by("tree", kAllReduce, 4);
  // Rank 0 is a leaf of tree 0 and sends pieces 0 and 2 to rank 1 first.
  std::swap(schedule.lanes[0][0][0], schedule.lanes[0][0][1]);
  const auto fault = verify(schedule);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::wrong_piece);
  CHECK(fault->rank == 1);
  CHECK(fault->text.find("message 0 from rank 0 is received as piece 0, but was sent as piece 2") !=
        std::string::npos);
}

TEST_CASE("wrong value: all-gather puts blocks in each other's places") {
  Schedule schedule = made_by("one-shot", kAllGather, 4);
  Lane& lane = schedule.lanes[0][0];
  std::swap(lane[1].destinations, lane[2].destinations);
  check_fault(schedule, FaultKind::wrong_value, 0, 1);
}

TEST_CASE("wrong value: reduce-scatter sends another rank's block") {
  Schedule schedule = made_by("one-shot", kReduceScatter, 3);
  schedule.lanes[2][0][0].sources = {input(1)};  // to rank 0
  check_fault(schedule, FaultKind::wrong_value, 0, 2);
}

TEST_CASE("wrong completes: missing, early and repeated") {
  Schedule missing = exchange();
  missing.lanes[1][0][1].completes = false;
  check_fault(missing, FaultKind::wrong_completes, 1, 1);

  Schedule early = exchange();
  early.lanes[0][0][0].completes = true;
  check_fault(early, FaultKind::wrong_completes, 0, 0);

  Schedule repeated = made_by("two-shot", kAllReduce, 3);
  repeated.lanes[2][0].back().completes = true;
  check_fault(repeated, FaultKind::wrong_completes, 2, 4);

  // The error says where the value was complete first, or what it lacks.
  CHECK(verify(repeated)->text.find("complete first on rank ") != std::string::npos);
  CHECK(verify(early)->text.find("the result holds rank 0 only") != std::string::npos);

  Schedule gathered = made_by("ring", kAllGather, 2);
  gathered.lanes[0][0][1].completes = true;
  check_fault(gathered, FaultKind::wrong_completes, 0, 1);

  Schedule alone = made_by("ring", kAllReduce, 1);
  alone.lanes[0][0][0].completes = false;
  check_fault(alone, FaultKind::wrong_completes, 0, 0);
}

TEST_CASE("leftover message: sent and never received") {
  Schedule schedule = exchange();
  schedule.lanes[0][0].push_back({0, {input(0)}, {peer(1)}});
  check_fault(schedule, FaultKind::leftover_message, 0, 2, {.slots = 100});
}

TEST_CASE("different bits: one rank reduces in another order") {
  Schedule schedule = made_by("one-shot", kAllReduce, 3);
  CHECK_FALSE(verify(schedule));
  std::swap(schedule.lanes[1][0][1].sources[0], schedule.lanes[1][0][1].sources[2]);
  const auto fault = verify(schedule);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::different_bits);
}

TEST_CASE("malformed: ends, pieces and tables that cannot be") {
  const auto with_first_move = [](const Move& move) {
    Schedule schedule = exchange();
    schedule.lanes[0][0][0] = move;
    return schedule;
  };
  const auto check_move = [&](const Move& move) {
    check_fault(with_first_move(move), FaultKind::malformed, 0, 0);
  };
  check_move({1, {input(0)}, {peer(1)}});
  check_move({-1, {input(0)}, {peer(1)}});
  check_move({0, {}, {peer(1)}});
  check_move({0, {input(0)}, {}});
  check_move({0, {input(0)}, {peer(0)}});
  check_move({0, {input(0)}, {peer(2)}});
  check_move({0, {input(0)}, {peer(-1)}});
  check_move({0, {input(1)}, {peer(1)}});
  check_move({0, {input(0)}, {output(1)}});
  check_move({0, {peer(1)}, {input(0)}});
  check_move({0, {input(0)}, {peer(1), peer(1)}});
  check_move({0, {peer(1), peer(1)}, {output(0)}});
  check_move({0, {input(0)}, {output(0), output(0)}});

  Schedule reducing = made_by("ring", kAllGather, 2);
  reducing.lanes[1][0][1].sources.push_back(input(0));
  check_fault(reducing, FaultKind::malformed, 1, 1);

  Schedule stray = made_by("ring", kAllReduce, 2, 2);
  stray.lanes[0][1][0].piece = 0;  // channel 0's
  check_fault(stray, FaultKind::malformed, 0, 0);

  Schedule short_of_a_rank = exchange();
  short_of_a_rank.lanes.pop_back();
  check_fault(short_of_a_rank, FaultKind::malformed, -1, -1);

  Schedule short_of_a_lane = exchange();
  short_of_a_lane.lanes[1].clear();
  check_fault(short_of_a_lane, FaultKind::malformed, 1, -1);

  Schedule uneven = made_by("ring", kAllReduce, 2, 2);
  uneven.pieces = 5;
  check_fault(uneven, FaultKind::malformed, -1, -1);

  check_fault({{kAllReduce, 0, 1}, 1, {}}, FaultKind::malformed, -1, -1);
  check_fault(exchange(), FaultKind::malformed, -1, -1, {.slots = 0});
}

// An all-gather of two ranks, where rank 1 sends its block twice in one message of two parts.
Schedule packed() {
  Schedule schedule = table(kAllGather, 1,
                            {{{0, {input(0)}, {output(0), peer(1)}},
                              {0, {peer(1, true)}, {output(1)}},
                              {0, {peer(1)}, {output(1)}}},
                             {{0, {input(0)}, {output(1), peer(0, true)}},
                              {0, {input(0)}, {peer(0)}},
                              {0, {peer(0)}, {output(0)}}}});
  schedule.parts = 2;
  return schedule;
}

TEST_CASE("a message of several parts takes one slot") {
  CHECK_FALSE(verify(packed(), {.slots = 1}));
  CHECK(slots_needed(packed()) == 1);
}

TEST_CASE("wrong message: the receiver takes the parts of one as two") {
  Schedule schedule = packed();
  schedule.lanes[0][0][1].sources = {peer(1)};
  check_fault(schedule, FaultKind::wrong_message, 0, 1);
}

TEST_CASE("wrong message: the round ends before the message does") {
  Schedule schedule = packed();
  schedule.lanes[0][0][2].sources = {peer(1, true)};
  schedule.lanes[1][0][1].destinations = {peer(0, true)};
  check_fault(schedule, FaultKind::wrong_message, 1, 1);
}

TEST_CASE("wrong message: more parts than the schedule says") {
  Schedule schedule = packed();
  schedule.parts = 1;
  check_fault(schedule, FaultKind::wrong_message, 1, 1);
}

TEST_CASE("deadlock: a part is waited for before the message is whole") {
  // Rank 0 answers the first part before rank 1 sends the second.
  const Schedule schedule = [] {
    Schedule s = packed();
    s.lanes[1][0] = {{0, {input(0)}, {output(1), peer(0, true)}},
                     {0, {peer(0)}, {output(0)}},
                     {0, {input(0)}, {peer(0)}}};
    s.lanes[0][0] = {{0, {peer(1, true)}, {output(1)}},
                     {0, {input(0)}, {output(0), peer(1)}},
                     {0, {peer(1)}, {output(1)}}};
    return s;
  }();
  check_fault(schedule, FaultKind::deadlock, 0, 0);
}

TEST_CASE("rooted collectives: what the other ranks do not have") {
  Schedule schedule =
      table(base::Collective::broadcast, 1,
            {{{0, {input(0)}, {output(0), peer(1)}}}, {{0, {peer(0)}, {output(0)}}}});
  CHECK_FALSE(verify(schedule));
  schedule.lanes[1][0][0].sources = {input(0)};
  check_fault(schedule, FaultKind::malformed, 1, 0);
  schedule.shape.root = 2;
  check_fault(schedule, FaultKind::malformed, -1, -1);
}

TEST_CASE("wrong value: an all-to-all that delivers another sender's block") {
  Schedule schedule = made_by("pairwise", base::Collective::all_to_all, 3);
  std::swap(schedule.lanes[0][0][2].destinations, schedule.lanes[0][0][4].destinations);
  check_fault(schedule, FaultKind::wrong_value, 0, 2);
}

}  // namespace
}  // namespace heddle::collectives
