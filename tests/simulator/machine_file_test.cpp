// Machine files: the presets, and what is wrong with wrong ones, by line and field.
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "catch.hpp"
#include "topology/machine_json.hpp"

namespace heddle::topology {
namespace {

// Line 1 is the brace; each member has a line.
std::string file_with(std::string_view changed = "", std::string_view text = "") {
  const std::pair<std::string_view, std::string_view> members[] = {
      {"name", R"("two")"},
      {"hosts", "2"},
      {"ranks_per_host", "2"},
      {"rank", R"({"copy_bandwidth_gb_per_s": 10, "reduce_bandwidth_gb_per_s": 5})"},
      {"inner", R"({"kind": "bus", "bandwidth_gb_per_s": 10, "latency_us": 1})"},
      {"adapters", R"({"count": 1, "bandwidth_gb_per_s": 1.25, "latency_us": 20})"},
      {"software", R"({"slots": 8})"}};
  std::string file = "{\n";
  bool first = true;
  for (const auto& [name, value] : members) {
    if (name == changed && text.empty()) continue;
    file += fmt::format("{}\"{}\": {}", first ? "" : ",\n", name, name == changed ? text : value);
    first = false;
  }
  return file + "\n}\n";
}

std::string message_of(const std::string& file) {
  try {
    parse_machine(file, "two.json");
  } catch (const base::Error& error) {
    CHECK(error.code() == heddleInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a machine file gives seconds and bytes per second") {
  const Machine machine = parse_machine(file_with(), "two.json");
  CHECK(machine.name == "two");
  CHECK(machine.ranks() == 4);
  CHECK(machine.adapters.bandwidth == Approx(1.25e9));
  CHECK(machine.adapters.latency == Approx(20e-6));
  CHECK(machine.adapters.eager_bytes == kAnyBytes);
  CHECK(machine.inner.kind == InnerLink::Kind::bus);
}

TEST_CASE("numbers may have an origin") {
  const Machine machine =
      parse_machine(file_with("hosts", R"({"value": 3, "origin": "counted"})"), "two.json");
  CHECK(machine.hosts == 3);
  CHECK(machine.origins.at("hosts") == "counted");
}

TEST_CASE("wrong machine files are refused by line and field") {
  struct Wrong {
    std::string_view member, text, message;
  };
  const Wrong wrongs[] = {
      {"adapters", R"({"count": 1, "bandwidth_gb_per_s": 0})",
       "two.json:7: adapters.bandwidth_gb_per_s: 0 is not allowed; allowed: above 0"},
      {"adapters", R"({"count": 1, "bandwidth_gb_per_s": -1})",
       "two.json:7: adapters.bandwidth_gb_per_s: -1000000000 is not allowed"},
      {"adapters", R"({"count": 0})", "two.json:7: adapters.count: 0 with 2 hosts"},
      {"adapters", "", "adapters.count: 0 with 2 hosts"},
      {"adapters", R"({"count": 1.5, "bandwidth_gb_per_s": 1})",
       "two.json:7: adapters.count: is 1.5; a whole number is needed"},
      {"adapters", R"({"count": 1, "bandwith_gb_per_s": 1})",
       "two.json:7: adapters.bandwith_gb_per_s: is not known; allowed here: bandwidth_gb_per_s"},
      {"adapters", "[]", "two.json:7: adapters: is []; an object is needed"},
      {"inner", R"({"bandwidth_gb_per_s": "fast"})",
       "two.json:6: inner.bandwidth_gb_per_s: is \"fast\"; a number is needed"},
      {"inner", R"({"kind": "tube", "bandwidth_gb_per_s": 1})",
       "two.json:6: inner.kind: \"tube\" is not known; allowed: bus, ports"},
      {"inner", R"({"latency_us": 1})", "two.json:6: inner: lacks \"bandwidth_gb_per_s\""},
      {"inner", "", "two.json:1: lacks \"inner\""},
      {"rank", R"({"copy_bandwidth_gb_per_s": 1})",
       "rank.reduce_bandwidth_gb_per_s: 0 is not allowed"},
      {"hosts", "0", "two.json:3: hosts: 0 is not allowed; allowed: 1 and above"},
      {"hosts", R"({"valeu": 3})", "two.json:3: hosts.valeu: is not known"},
      {"hosts", R"({"origin": "guessed"})", "two.json:3: hosts: lacks \"value\""},
      {"hosts", "1e12", "two.json:3: hosts: is 1000000000000.0; a whole number"},
      {"hosts", "2,\n\"hosts\": 3", "two.json:4: hosts is there twice"},
      {"hosts", "2 3", "two.json, line 3, column 12: not JSON"},
      {"software", R"({"choices": [{"algorithm": "ring", "protocol": "LL"}]})",
       "two.json:8: software.choices[0].protocol: \"LL\" is not among software.protocols"},
      {"software", R"({"choices": [{"algorithm": "ring", "up_to_bytes": 5}]})",
       "two.json:8: software.choices[0].up_to_bytes: the last choice must be for all larger"},
      {"software", R"({"choices": [{"algorithm": "ring", "channels": 1025}]})",
       "two.json:8: software.choices[0].channels: 1025 is not allowed; allowed: 1 to 1024"},
      {"software",
       R"({"tuned": [{"collective": "all-reduce", "hosts": 1, "ranks": 2, "algorithm": "ring",
           "channels": 17}]})",
       "two.json:9: software.tuned[0].channels: 17 is not allowed; allowed: 1 to 16"},
      {"software",
       R"({"tuned": [{"collective": "all-reduce", "hosts": 1, "ranks": 2, "algorithm": "ring",
           "chunk_bytes": 1}]})",
       "two.json:9: software.tuned[0].chunk_bytes: 1 is not allowed; allowed: 0 (a slot), or 64 "
       "and above"},
      {"software",
       R"({"tuned": [{"collective": "all-reduce", "hosts": 1, "ranks": 2, "algorithm": "ring"},
           {"collective": "all_reduce", "hosts": 1, "ranks": 3, "algorithm": "ring"},
           {"collective": "all_reduce", "hosts": 1, "ranks": 2, "algorithm": "ring",
            "up_to_bytes": 8}]})",
       "two.json:11: software.tuned[2].up_to_bytes: goes up to 8, but row 0 is of the same "
       "collective, hosts and ranks and has no limit; sort them by size"},
      {"software", R"({"slots": 0})", "two.json:8: software.slots: 0 is not allowed"},
      {"software", R"({"protocols": [{"name": "LL", "wire_efficiency": 1.5}]})",
       "two.json:8: software.protocols[0].wire_efficiency: 1.5 is not allowed"},
  };
  for (const Wrong& wrong : wrongs) {
    const std::string message = message_of(file_with(wrong.member, wrong.text));
    INFO(message << " for " << wrong.message);
    CHECK(message.find(wrong.message) != std::string::npos);
  }
}

TEST_CASE("a file of another kind is refused") {
  CHECK(message_of("").find("two.json, line 1, column 1: not JSON") != std::string::npos);
  CHECK(message_of("[1, 2]").find("an object is needed") != std::string::npos);
  CHECK(message_of(std::string(100, '[') + std::string(100, ']')).find("nested") !=
        std::string::npos);
  CHECK_THROWS_AS(load_machine("/no/such/machine.json"), base::Error);
  CHECK_THROWS_AS(load_machine("/"), base::Error);
}

TEST_CASE("tiers nest") {
  Machine machine = parse_machine(file_with(), "two.json");
  machine.tiers = {{.hosts = 4}, {.hosts = 8, .oversubscription = 2}};
  CHECK_NOTHROW(check(machine));
  machine.tiers = {{.hosts = 4}, {.hosts = 6}};
  CHECK_THROWS_AS(check(machine), base::Error);
  machine.tiers = {{.hosts = 4, .oversubscription = 0.5}};
  CHECK_THROWS_AS(check(machine), base::Error);
}

TEST_CASE("presets are right, say where their numbers are from, and survive being written") {
  REQUIRE(presets().size() == 5);
  for (const Preset& preset : presets()) {
    const Machine machine = load_machine(std::string(preset.name));
    CHECK(machine.name == preset.name);
    for (const char* field : {"adapters.bandwidth_gb_per_s", "inner.bandwidth_gb_per_s",
                              "rank.lane_bandwidth_gb_per_s", "adapters.latency_us"})
      CHECK(machine.origins.contains(field));
    const std::string text = machine_json(machine);
    CHECK(machine_json(parse_machine(text, "again")) == text);
  }
}

}  // namespace
}  // namespace heddle::topology
