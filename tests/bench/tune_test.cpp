// heddle-tune's judgement, over made-up times.
#include <algorithm>
#include <map>
#include <string>

#include "catch.hpp"
#include "collectives/rounds.hpp"
#include "topology/machine_json.hpp"
#include "tune/comparison.hpp"
#include "tune/options.hpp"
#include "tune/rows.hpp"

namespace heddle::bench::tune {
namespace {

using Catch::Contains;

constexpr auto kAllReduce = base::Collective::all_reduce;

const Candidate kRing{"ring", 1, 0}, kTree{"tree", 1, 0}, kStar{"star", 1, 0};

World world_of(int ranks) {
  World world;
  world.ranks = ranks;
  world.ranks_per_host = ranks;
  return world;
}

// Takes what it is told, a tenth of a second a time.
class Told : public Stopwatch {
 public:
  explicit Told(std::map<Candidate, double> seconds) : seconds_(std::move(seconds)) {}

  double time(const Candidate& candidate, const Cell&, int) override {
    ++times[candidate];
    now_ += 0.1;
    // Now and then something else runs.
    return seconds_.at(candidate) * (++calls_ % 7 == 0 ? 20 : 1);
  }
  double now() override { return now_; }

  std::map<Candidate, int> times;

 private:
  std::map<Candidate, double> seconds_;
  double now_ = 0;
  int calls_ = 0;
};

Outcome outcome_of(std::size_t bytes, const std::map<Candidate, double>& seconds) {
  Outcome outcome{{kAllReduce, bytes}, {}};
  for (const auto& [candidate, time] : seconds)
    outcome.timed.push_back({candidate, {time, time, time}, 1});
  std::sort(outcome.timed.begin(), outcome.timed.end(),
            [](const Timed& a, const Timed& b) { return a.median() < b.median(); });
  return outcome;
}

TEST_CASE("a race finds the fastest whatever else runs, and drops the slow") {
  Told told({{kRing, 3e-6}, {kTree, 1e-6}, {kStar, 1.1e-6}});
  RaceLimits limits;
  limits.seconds = 1000;
  const Outcome outcome = race(told, {kAllReduce, 8}, {kRing, kTree, kStar}, limits);
  CHECK(outcome.best().candidate == kTree);
  CHECK(outcome.best().median() == 1e-6);
  CHECK(outcome.timed.back().candidate == kRing);
  CHECK(told.times[kTree] > 10);
  CHECK(told.times[kRing] < 7);
}

TEST_CASE("a race without time is one of the first candidate and those to be kept") {
  Told told({{kRing, 3e-6}, {kTree, 1e-6}, {kStar, 1e-6}});
  RaceLimits limits;
  limits.seconds = 0;
  limits.least_rounds = 4;
  const Outcome outcome =
      race(told, {kAllReduce, 8}, {kTree, kStar, kRing}, limits, {kRing}, [](const Candidate&) {
        return std::vector<Candidate>{{"tree", 1, 4096}};
      });
  CHECK(outcome.best().candidate == kTree);
  REQUIRE(outcome.find(kRing) != nullptr);
  CHECK(outcome.find(kRing)->samples.size() == 4);  // slow, but to be kept
  CHECK(outcome.find(kStar) == nullptr);
  CHECK(outcome.left_out == 3);
}

TEST_CASE("a race takes no longer than it may") {
  Told told({{kRing, 3e-6}, {kTree, 1e-6}, {kStar, 1.1e-6}});
  RaceLimits limits;
  limits.seconds = 4;
  const Outcome outcome = race(told, {kAllReduce, 8}, {kRing, kTree, kStar}, limits);
  CHECK(outcome.left_out == 0);
  CHECK(told.now() > 3.5);
  CHECK(told.now() < 4.5);
}

TEST_CASE("races of one cell are pooled: all samples, and those stay that stayed at last") {
  Outcome first = outcome_of(8, {{kTree, 1.0}, {kRing, 2.0}, {kStar, 0.5}});
  Outcome second = outcome_of(8, {{kTree, 4.0}, {kRing, 2.5}});
  const Outcome both = pooled(first, second);
  CHECK(both.best().candidate == kRing);
  CHECK(both.best().samples.size() == 6);
  CHECK(both.best().median() == 2.25);
  CHECK(both.find(kStar)->samples.size() == 3);
  CHECK(both.timed.back().candidate == kStar);  // fast, but not raced to the end
}

TEST_CASE("the best are tried in smaller chunks") {
  const Candidate smaller{"tree", 1, 4096};
  Told told({{kRing, 3e-6}, {kTree, 1e-6}, {smaller, 0.5e-6}});
  RaceLimits limits;
  limits.seconds = 10;
  const auto more = [&](const Candidate& candidate) {
    return candidate == kTree ? std::vector<Candidate>{smaller} : std::vector<Candidate>{};
  };
  const Outcome outcome = race(told, {kAllReduce, 8}, {kRing, kTree}, limits, {}, more);
  CHECK(outcome.best().candidate == smaller);
}

TEST_CASE("sizes with one winner are one row, and the last row has no limit") {
  const std::vector<Outcome> outcomes = {
      outcome_of(8, {{kTree, 1.0}, {kRing, 2.0}}), outcome_of(32, {{kTree, 1.005}, {kRing, 1.0}}),
      outcome_of(128, {{kTree, 3.0}, {kRing, 1.0}}), outcome_of(512, {{kTree, 9.0}, {kRing, 1.0}})};
  const auto rows = rows_of(outcomes, world_of(4), 0.01);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].algorithm == "tree");
  CHECK(rows[0].up_to_bytes == 64);  // between 32 and 128
  CHECK(rows[0].collective == "all-reduce");
  CHECK(rows[0].ranks == 4);
  CHECK(rows[1].algorithm == "ring");
  CHECK(rows[1].up_to_bytes == topology::kAnyBytes);
  CHECK(rows_of(outcomes, world_of(4), 0.001).size() == 2);
  CHECK(rows_of(outcomes, world_of(4), 10).size() == 1);
}

TEST_CASE("what one size measured alone does not go on to the next") {
  const std::vector<Outcome> outcomes = {outcome_of(8, {{kStar, 1.0}, {kRing, 1.2}}),
                                         outcome_of(32, {{kTree, 1.0}, {kRing, 1.2}})};
  const auto rows = rows_of(outcomes, world_of(4), 0.01);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].algorithm == "star");
  CHECK(rows[1].algorithm == "tree");
}

TEST_CASE("the comparison counts the sizes whose pick is close to the best") {
  const std::vector<Compared> cells = {
      compare(outcome_of(8, {{kTree, 1e-6}, {kRing, 2e-6}}), kTree, kRing),
      compare(outcome_of(2048, {{kTree, 1.04e-6}, {kRing, 1e-6}}), kTree, kTree)};
  CHECK(cells[0].model_ratio() == Approx(2));
  CHECK(cells[1].tuned_ratio() == Approx(1.04));
  CHECK(shares_of(cells).tuned == 1);
  CHECK(shares_of(cells).model == 0.5);
  CHECK_THAT(comparison_text(cells),
             Contains("tuned pick at 100 % of 2 sizes, the model's at 50 %"));
  CHECK_THAT(comparison_text(cells), Contains("2 KiB"));
  CHECK_THAT(comparison_json(cells, world_of(4)), Contains("\"tuned_over_best\": 1.04"));
}

TEST_CASE("every algorithm that can do a collective is a candidate, on several channels") {
  const auto candidates = candidates_of(world_of(4), kAllReduce, 256 * 1024);
  const auto has = [&](const Candidate& candidate) {
    return std::find(candidates.begin(), candidates.end(), candidate) != candidates.end();
  };
  CHECK(has(kRing));
  CHECK(has({"tree", 2, 0}));
  CHECK(has({"star", 4, 0}));
  CHECK_FALSE(has({"pairwise", 1, 0}));
  const Cell small{kAllReduce, 4096}, large{kAllReduce, 1 << 20};
  CHECK(in_smaller_chunks(kStar, world_of(4), small, 256 * 1024).empty());
  const auto smaller = in_smaller_chunks(kStar, world_of(4), large, 256 * 1024);
  REQUIRE(smaller.size() == 2);
  CHECK(smaller[0].message_bytes == 64 * 1024);
}

TEST_CASE("algorithms with the same lanes are one candidate, under the name of the first") {
  const auto count = [](int ranks) {
    return candidates_of(world_of(ranks), base::Collective::broadcast, 256 * 1024).size();
  };
  CHECK(count(2) < count(4));
  const tuner::Pick pick{collectives::algorithm_named("chain"), 2, 256 * 1024, ""};
  const auto named = [&](int ranks) {
    return candidate_of(pick, world_of(ranks), base::Collective::broadcast, 256 * 1024).algorithm;
  };
  CHECK(named(2) == candidates_of(world_of(2), base::Collective::broadcast, 65536)[0].algorithm);
  CHECK(named(4) == "chain");
}

TEST_CASE("a candidate's file makes the library's tuner pick it, and parses") {
  const World world = world_of(4);
  const Candidate candidate{"tree", 2, 64 * 1024};
  const auto machine =
      topology::parse_machine(topology::machine_json(forcing(candidate, world)), "file");
  tuner::Tuner tuner(machine);
  for (const std::size_t bytes : {8u, 1u << 26}) {
    const auto pick = tuner.pick(request_of(world, {kAllReduce, bytes}, 256 * 1024));
    CHECK(candidate_of(pick, world, kAllReduce, 256 * 1024) == candidate);
  }
}

TEST_CASE("the table is asked with the slots too: what has no room in them is not picked") {
  tuner::Tuner table(std::nullopt);
  const World world = world_of(256);
  const auto pick = table.pick(request_of(world, {base::Collective::all_to_all, 1024}, 4096));
  CHECK(collectives::parts_fit(
      4096, pick.algorithm->parts({base::Collective::all_to_all, 256, 1, 0, 256})));
}

TEST_CASE("a command line that is none says what is allowed") {
  const auto refusal = [](const std::vector<std::string>& arguments) -> std::string {
    try {
      parse_tune_options(arguments);
    } catch (const Usage& usage) {
      return usage.what();
    }
    return "";
  };
  CHECK_THAT(refusal({"--collectives", "all-reduce,al-gather"}), Contains("al-gather"));
  CHECK_THAT(refusal({"--collectives", "al-gather"}), Contains("allowed: all-reduce, all-gather"));
  CHECK_THAT(refusal({"-b", "1M", "-e", "8"}), Contains("-b 1M is larger than -e 8"));
  CHECK_THAT(refusal({"-b", "1"}), Contains("allowed: 4 to 4G"));
  CHECK_THAT(refusal({"-g", "1"}), Contains("--ranks"));
  CHECK_THAT(refusal({"--budget", "0"}), Contains("--budget"));
  const auto options = parse_tune_options({"--collectives", "reduce,broadcast", "-g", "3"});
  CHECK(options.collectives == std::vector{base::Collective::reduce, base::Collective::broadcast});
  CHECK(parse_tune_options({}).collectives.size() == base::kCollectives);
}

}  // namespace
}  // namespace heddle::bench::tune
