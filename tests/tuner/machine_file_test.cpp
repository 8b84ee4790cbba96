// Names of algorithms in machine files: refused by file, line and field.
#include "tuner/machine_file.hpp"

#include "catch.hpp"
#include "priced_machine.hpp"
#include "topology/machine_json.hpp"

namespace heddle::tuner {
namespace {

using Catch::Contains;

std::string file_with(const std::string& software) {
  return R"({"name": "plain", "ranks_per_host": 2,
"rank": {"copy_bandwidth_gb_per_s": 10, "reduce_bandwidth_gb_per_s": 10},
"inner": {"bandwidth_gb_per_s": 10},
"software": {
)" + software +
         "}}";
}

topology::Machine read(const std::string& software) {
  return topology::parse_machine(file_with(software), "plain.json", check_algorithms);
}

TEST_CASE("an algorithm that is not there is refused by line and field, with those that are") {
  CHECK_THROWS_WITH(
      read(R"("tuned": [{"collective": "all-reduce", "hosts": 1, "ranks": 2, "algorithm": "ring"},
{"collective": "all-reduce", "hosts": 1, "ranks": 3,
"algorithm": {"value": "rnig", "origin": "typed"}}])"),
      Contains(
          "plain.json:7: software.tuned[1].algorithm: \"rnig\" is not known; allowed are ring"));
  CHECK_THROWS_WITH(read(R"("choices": [
{"algorithm": "rnig"}])"),
                    Contains("plain.json:6: software.choices[0].algorithm: \"rnig\" is not known"));
  // Left out, it is none either, and the line is that of the entry.
  CHECK_THROWS_WITH(read(R"("choices": [
{"channels": 2}])"),
                    Contains("plain.json:6: software.choices[0].algorithm: \"\" is not known"));
}

TEST_CASE("names that are there pass, by either spelling") {
  CHECK(read(R"("choices": [{"algorithm": "recursive_doubling"}])").software.choices.size() == 1);
  for (const topology::Preset& preset : topology::presets())
    CHECK(load_machine(std::string(preset.name)).name == preset.name);
}

}  // namespace
}  // namespace heddle::tuner
