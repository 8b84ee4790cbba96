// HEDDLE_SCHEDULE: what a file holds is what runs, with the right data, and what is wrong in it is
// told on every rank.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "collectives/schedule_json.hpp"
#include "ranks.hpp"
#include "run_shapes.hpp"
#include "temporary_file.hpp"

namespace heddle::test {
namespace {

using base::Collective;
using Catch::Contains;
using collectives::Schedule;
using collectives::Shape;

// Every collective and root that the algorithm has among so many ranks, on 1 to 3 channels.
std::vector<Shape> shapes_of(const collectives::Algorithm& algorithm, int ranks) {
  std::vector<Shape> all;
  int turn = 0;
  for (int c = 0; c < base::kCollectives; ++c)
    for (const int root : roots(static_cast<Collective>(c), ranks))
      for (const Shape& shape :
           shapes(algorithm, {static_cast<Collective>(c), ranks, 1 + turn++ % 3, root}))
        all.push_back(shape);
  return all;
}

// From nothing to several rounds, by the schedule of a file and nothing else.
void check_file(const Schedule& schedule, const std::string& settings) {
  const Shape& shape = schedule.shape;
  const TemporaryFile file(to_json(schedule));
  const std::string log = log_of_ranks(
      shape.ranks,
      [&](Communicator& communicator, int) {
        for (const std::size_t count : {0, 1, 13, 10'007})
          for (const auto op : {heddleSum, heddleAvg})
            check_both(communicator,
                       {shape.collective, heddleFloat32, op, shape.ranks, count, shape.root});
      },
      settings + " HEDDLE_SLOT_BYTES=4K HEDDLE_SCHEDULE=" + file.path());
  CHECK_THAT(log, Contains(std::string(base::name_of(shape.collective)) + " among " +
                           std::to_string(shape.ranks) + " ranks: the schedule of " + file.path()));
  CHECK_THAT(log, !Contains("in place of HEDDLE_SCHEDULE"));
}

Schedule schedule_by(const char* algorithm, const Shape& shape) {
  return schedule_of(*collectives::algorithm_named(algorithm), shape);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a file's schedule of any algorithm, collective and root gives the right data") {
  int files = 0;
  for (const auto& algorithm : collectives::algorithms())
    for (const Shape& shape : shapes_of(algorithm, 4)) {
      INFO(algorithm.name << " " << base::name_of(shape.collective) << " on " << shape.channels
                          << ", root " << shape.root);
      check_file(schedule_of(algorithm, shape), kCarriers[files++ % 2]);
    }
  CHECK(files > 40);
}

TEST_CASE("a file's schedule is run over each way to carry data, by an odd number of ranks") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  check_file(schedule_by("ring", {Collective::all_reduce, 3, 2}), how);
  check_file(schedule_by("bruck", {Collective::all_to_all, 3, 1}), how);
  check_file(schedule_by("binomial", {Collective::scatter, 3, 1, 2}), how);
}

TEST_CASE("a schedule that no algorithm makes: sums in the order of the file") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  Schedule schedule = schedule_by("one-shot", {Collective::all_reduce, 3, 1});
  const auto sum_with = [&](const std::string& settings) {
    float sum = -1;
    run_ranks(
        3,
        [&](Communicator& communicator, int rank) {
          // The last is lost when it is added to either of the others alone.
          const float own[] = {1e8F, -1e8F, 1.0F};
          float value = own[rank];
          communicator.all_reduce(&value, &value, 1, heddleFloat32, Op::sum);
          if (rank == 0) sum = value;
        },
        how + " " + settings);
    return sum;
  };
  CHECK(sum_with("HEDDLE_ALGO=one-shot") == 1.0F);
  for (auto& lanes : schedule.lanes) {
    auto& sources = lanes.at(0).back().sources;
    REQUIRE(sources.size() == 3);
    std::reverse(sources.begin(), sources.end());
  }
  const TemporaryFile reversed(to_json(schedule));
  CHECK(sum_with("HEDDLE_SCHEDULE=" + reversed.path()) == 0.0F);
}

TEST_CASE("a file that is no schedule, or a wrong one, is told on every rank") {
  const std::string ring = to_json(schedule_by("ring", {Collective::all_reduce, 3, 1}));
  const auto check_refused = [](const std::string& text, const std::string& where) {
    const TemporaryFile file(text);
    const std::string setting = "HEDDLE_SCHEDULE=" + file.path();
    const auto errors = errors_of_ranks(
        3, [](Communicator& communicator, int) { communicator.barrier(); }, setting);
    for (const std::string& error : errors) CHECK_THAT(error, Contains(setting + where));
  };
  check_refused(replaced(ring, "\"ranks\": 3", "\"ranks\": 0"),
                ":4: ranks: is 0; a whole number from 1 to ");
  check_refused(replaced(ring, "\"peer 1\"", "\"pear 1\""),
                ":12: lanes[0][0][0].to[0]: is \"pear 1\"; needed is \"input N\"");
  check_refused(replaced(ring, "\"lanes\"", "lanes"), ", line 10, column 3: not JSON");
  check_refused(replaced(ring, "\"peer 1\"", "\"peer 2\""),
                ": leftover message: rank 0, channel 0, move 0 (piece 2: input 0 -> peer 2)");
  check_refused(replaced(ring, ",\"completes\":true", ""),
                ": wrong completes: rank 0, channel 0, ");
}

}  // namespace heddle::test
