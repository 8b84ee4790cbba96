#include "script.hpp"
#include "support/errors.hpp"

#include "catch.hpp"

using namespace emulated_efa;
using namespace std::chrono_literals;

namespace {

Script parse(std::string_view text, std::optional<int> rank = {}) {
  return parse_script(text, "faults", rank);
}

std::string error_of(std::string_view text) {
  return heddle::test::what_of<ConfigError>([&] { parse(text); });
}

}  // namespace

TEST_CASE("a script's lines become rules") {
  const Script script = parse(
      "# how a bad day looks\n"
      "\n"
      "bandwidth all 250MB/s\n"
      "bandwidth 1,3 2Gbit/s # two of them\n"
      "delay 2 1.5ms\n"
      "again 0 every 100 for 10\n"
      "again 0 at 2s for 100ms\n"
      "error 0 after 50 for 3 code 7 landed\n"
      "dead 3 at 1s for 500ms\n"
      "hang 2 after 1000\n"
      "shuffle window 16 hold 100us\n"
      "patience 200ms\n"
      "memlock 65536\n"
      "rnr error");
  REQUIRE(script.rules.size() == 8);
  CHECK(script.rules[0].adapters == 0xffffffff);
  CHECK(script.rules[0].rate == 250e6);
  CHECK(script.rules[0].line == 3);
  CHECK(script.rules[1].adapters == 0b1010);
  CHECK(script.rules[1].rate == 250e6);
  CHECK(script.rules[2].time == 1500us);
  CHECK(script.rules[3].every == 100);
  CHECK(script.rules[3].when.for_ops == 10);
  CHECK(script.rules[4].when.at == 2s);
  CHECK(script.rules[4].when.lasting == 100ms);
  CHECK(script.rules[5].fault == Fault::error);
  CHECK(script.rules[5].when.after == 50);
  CHECK(script.rules[5].when.for_ops == 3);
  CHECK(script.rules[5].code == 7);
  CHECK(script.rules[5].landed);
  CHECK(script.rules[6].fault == Fault::dead);
  CHECK(script.rules[6].when.lasting == 500ms);
  CHECK(script.rules[7].fault == Fault::hang);
  CHECK(script.rules[7].when.after == 1000);
  CHECK_FALSE(script.rules[7].when.lasting);
  CHECK(script.shuffle_window == 16);
  CHECK(script.shuffle_hold == 100us);
  CHECK(script.patience == 200ms);
  CHECK(script.memlock == 65536);
  CHECK(script.rnr_error);
  CHECK_FALSE(parse("patience never").patience);
}

TEST_CASE("a line may be of one rank only") {
  CHECK(parse("dead 0 at 1s rank 2", 2).rules.size() == 1);
  CHECK(parse("dead 0 at 1s rank 2", 1).rules.empty());
  CHECK(parse("dead 0 at 1s rank 2").rules.empty());
  CHECK(parse("patience 1s rank 1", 0).patience == 5s);
}

TEST_CASE("a line that is not understood is an error that names it") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"\nslow 0 1ms", "faults:2: 'slow' is unknown"},
      {"bandwidth all", "faults:1: rate is missing"},
      {"bandwidth all 250", "rate '250' is none"},
      {"bandwidth all 250mb/s", "rate '250mb/s' is none"},
      {"bandwidth all -1MB/s", "rate '-1MB/s' is none"},
      {"bandwidth all 0MB/s", "at least 1KB/s"},
      {"bandwidth all nanMB/s", "rate 'nanMB/s' is none"},
      {"bandwidth 32 1MB/s", "adapters '32'"},
      {"bandwidth 0,,1 1MB/s", "adapters '0,,1'"},
      {"bandwidth any 1MB/s", "adapters 'any'"},
      {"delay 0 5", "time '5' is none"},
      {"delay 0 5 ms", "time '5' is none"},
      {"delay 0 5ms 6ms", "'6ms' is more than 'delay' takes"},
      {"again 0 every 0 for 1", "number of posts '0'"},
      {"again 0 every 5", "again every N needs: for POSTS"},
      {"again 0 at 1s", "again needs an end"},
      {"error 0 at 1s", "error needs: after"},
      {"error 0 after 1 code 16", "code '16' is not a number from 1 to 15"},
      {"error 0 after x", "number of operations 'x'"},
      {"dead 0", "at TIME or after OPERATIONS"},
      {"dead 0 after 1 for", "time is missing"},
      {"shuffle window 0 hold 1ms", "number of packets '0'"},
      {"shuffle window 4", "needs: hold TIME"},
      {"patience soon", "time 'soon' is none"},
      {"rnr maybe", "error or wait"},
      {"dead 0 at 1s rank", "rank is missing"},
      {"dead 0 at 1s rank -1", "rank '-1'"},
  }));
  CAPTURE(text);
  CHECK_THAT(error_of(text), Catch::Matchers::Contains(expected));
}
