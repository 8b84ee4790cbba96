// Schedules as files: what is written reads back the same, and what is wrong is named with its line
// and field, or with rank, channel and move.
#include "collectives/schedule_json.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "support/base_errors.hpp"

namespace heddle::collectives {
namespace {

using Catch::Contains;

bool same(const Schedule& a, const Schedule& b) {
  const auto same_move = [](const Move& x, const Move& y) {
    return x.piece == y.piece && x.sources == y.sources && x.destinations == y.destinations &&
           x.completes == y.completes;
  };
  if (!(a.shape == b.shape) || a.pieces != b.pieces || a.parts != b.parts) return false;
  for (std::size_t rank = 0; rank < a.lanes.size(); ++rank)
    for (std::size_t channel = 0; channel < a.lanes[rank].size(); ++channel) {
      const Lane& x = a.lanes[rank][channel];
      const Lane& y = b.lanes[rank][channel];
      if (!std::equal(x.begin(), x.end(), y.begin(), y.end(), same_move)) return false;
    }
  return true;
}

std::string error_of(const std::string& text) {
  return test::error_of([&] { schedule_from_json(text, "file.json", 4); }, heddleInvalidArgument);
}

std::string ring_text() {
  return to_json(schedule_of(*algorithm_named("ring"), {base::Collective::all_reduce, 3, 1}));
}

// The ring's text with the first occurrence of `what` replaced.
std::string changed(const std::string& what, const std::string& with) {
  std::string text = ring_text();
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

TEST_CASE("every algorithm's schedule reads back as it was written") {
  int schedules = 0;
  for (const Algorithm& algorithm : algorithms())
    for (int c = 0; c < base::kCollectives; ++c)
      for (const int ranks : {1, 2, 6}) {
        const Shape shape{static_cast<base::Collective>(c), ranks, 2, ranks - 1,
                          ranks == 6 ? 3 : 0};
        if (!can_do(algorithm, shape)) continue;
        const Schedule schedule = schedule_of(algorithm, shape);
        const std::string text = to_json(schedule);
        INFO(algorithm.name << " " << base::name_of(shape.collective) << " " << ranks);
        CHECK(same(schedule, schedule_from_json(text, "file.json", 4)));
        ++schedules;
      }
  CHECK(schedules > 30);
}

TEST_CASE("a text that is no schedule is refused with line and field") {
  CHECK_THAT(error_of("{\n\"ranks\": 3,\n"), Contains("file.json, line 3, column 1: not JSON"));
  CHECK(error_of("{\"ranks\": 1e999}") ==
        "file.json, line 1, column 11: not JSON: number overflow parsing '1e999'");
  CHECK_THAT(error_of("[]"), Contains("file.json:1: is []; an object is needed"));
  CHECK_THAT(error_of("{}"), Contains("lacks \"heddle_schedule\""));
  const std::vector<std::pair<std::pair<std::string, std::string>, std::string>> cases = {
      {{"\"heddle_schedule\": 1", "\"heddle_schedule\": 2"},
       "file.json:2: heddle_schedule: is 2; a whole number from 1 to 1 is needed"},
      {{"all-reduce", "all-reduse"},
       "file.json:3: collective: \"all-reduse\" is not known; allowed"},
      {{"\"ranks\": 3", "\"ranks\": 0"}, "file.json:4: ranks: is 0"},
      {{"\"ranks\": 3", "\"ranks\": 4"}, "lanes: has 3 entries; 4 are needed"},
      {{"\"channels\": 1", "\"channels\": \"1\""}, "file.json:5: channels: is \"1\""},
      {{"\"root\": 0", "\"root\": 3"}, "file.json:6: root: is 3; a whole number from 0 to 2"},
      {{"\"pieces\": 3", "\"piece\": 3"},
       "file.json:8: piece: is not known; allowed here: heddle_"},
      {{"{\"piece\":2,", "{"}, "file.json:12: lanes[0][0][0]: lacks \"piece\""},
      {{"[\"input 0\"]", "\"input 0\""},
       "file.json:12: lanes[0][0][0].from: is \"input 0\"; a list is needed"},
      {{"\"peer 1\"", "\"peer one\""},
       "file.json:12: lanes[0][0][0].to[0]: is \"peer one\"; needed"},
      {{"\"peer 1\"", "\"pear 1\""}, "lanes[0][0][0].to[0]: is \"pear 1\""},
      {{"\"peer 1\"", "7"}, "lanes[0][0][0].to[0]: is 7; a text is needed"},
      {{"\"completes\":true", "\"completes\":1"}, "completes: is 1; true or false is needed"},
  };
  for (const auto& [change, expected] : cases)
    CHECK_THAT(error_of(changed(change.first, change.second)), Contains(expected));
}

TEST_CASE("a schedule that is wrong is refused with rank, channel and move") {
  CHECK_THAT(error_of(changed("\"peer 1\"", "\"peer 2\"")),
             Contains("rank 0, channel 0, move 0 (piece 2: input 0 -> peer 2)"));
  CHECK_THAT(error_of(changed(",\"completes\":true", "")), Contains("wrong completes"));
  CHECK_THAT(error_of(changed("\"pieces\": 3", "\"pieces\": 2")), Contains("malformed: rank 0"));
  CHECK_THAT(error_of(changed("\"peer 1\"", "\"peer 1 ...\"")), Contains("wrong message"));
}

TEST_CASE("a file that is not there is named") {
  CHECK_THROWS_WITH(load_schedule("/nowhere/ring.json", 4),
                    Contains("/nowhere/ring.json: cannot be read"));
}

}  // namespace
}  // namespace heddle::collectives
