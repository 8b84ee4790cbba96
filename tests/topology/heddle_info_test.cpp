// Runs heddle-info as a person would. HEDDLE_INFO and HEDDLE_SETTINGS_PAGE are paths from CMake.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "catch.hpp"
#include "heddle/version.h"

namespace {

using Json = nlohmann::json;

struct Outcome {
  int status = -1;
  std::string output;
};

// In an environment of nothing but `variables`.
Outcome heddle_info(const std::string& arguments, const std::string& variables = "") {
  const std::string command = "env -i IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 " + variables + " '" +
                              HEDDLE_INFO + "' " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.output.append(buffer.data(), got);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json setting(const Json& page, const std::string& name) {
  for (const auto& row : page.at("settings"))
    if (row.at("name") == name) return row;
  return {};
}

}  // namespace

TEST_CASE("the page has every section") {
  const Outcome outcome = heddle_info("");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  for (const char* title :
       {"heddle ", "\nMachine\n", "\nNetwork interfaces\n", "\nAddresses that ranks advertise\n",
        "\nProviders of libfabric ", "\nBetween hosts a job would use\n",
        "\nSettings that are not default\n  none\n", "\nAlgorithms, "})
    CHECK(has(outcome.output, title));
  CHECK(has(outcome.output, "\n  device memory  "));
  CHECK(!has(outcome.output, "would fail"));
  CHECK(!has(outcome.output, " \n"));  // no blanks at the ends of lines
}

TEST_CASE("the JSON has every field") {
  const Outcome outcome = heddle_info("--json");
  INFO(outcome.output);
  REQUIRE(outcome.status == 0);
  const Json page = Json::parse(outcome.output);
  const std::string version = std::to_string(HEDDLE_MAJOR) + "." + std::to_string(HEDDLE_MINOR) +
                              "." + std::to_string(HEDDLE_PATCH);
  CHECK(page.at("version") == version);
  CHECK(page.at("libfabric").is_string());
  CHECK(page.at("host").at("id").get<std::string>().size() == 16);
  CHECK(page.at("machine").at("cores") >= 1);
  CHECK(page.at("machine").at("memory_bytes") > 0);
  CHECK(page.at("machine").at("reductions") != "");
  CHECK(page.at("cpus").at("usable") >= 1);
  CHECK(page.at("cpus").at("allowed") != "");
  CHECK(page.at("shared_memory") == true);
  CHECK(page.at("warnings").empty());
  CHECK(page.at("problems").empty());
  CHECK(!page.at("advertised").empty());
  CHECK(page.at("algorithms").size() > 3);
  bool lo_is_there = false;
  for (const auto& one : page.at("interfaces")) {
    CHECK(one.at("used").get<bool>() == one.at("unused_because").get<std::string>().empty());
    CHECK((one.at("speed_mbit").is_null() || one.at("speed_mbit") > 0));
    lo_is_there = lo_is_there || (one.at("name") == "lo" && one.at("loopback") == true);
  }
  CHECK(lo_is_there);
  const Json& chosen = page.at("chosen");
  REQUIRE(chosen.is_object());
  CHECK(!chosen.at("adapters").empty());
  bool chosen_is_usable = false;
  for (const auto& one : page.at("providers")) {
    CHECK(one.at("usable").get<bool>() == one.at("unusable_because").get<std::string>().empty());
    CHECK(one.at("usable").get<bool>() == !one.at("adapters").empty());
    CHECK(one.at("device_memory").is_boolean());
    if (one.at("name") == chosen.at("provider")) chosen_is_usable = one.at("usable");
  }
  CHECK(chosen_is_usable);
}

TEST_CASE("settings in force show their value and source") {
  const std::string variables = "HEDDLE_SHM=0 HEDDLE_SLOTS=16 HEDDLE_SECRET=hush HEDDLE_IFACE=lo";
  const Outcome page = heddle_info("--json", variables);
  INFO(page.output);
  REQUIRE(page.status == 0);
  const Json json = Json::parse(page.output);
  CHECK(json.at("shared_memory") == false);
  CHECK(setting(json, "HEDDLE_SLOTS") ==
        Json{{"name", "HEDDLE_SLOTS"}, {"value", "16"}, {"source", "environment"}});
  CHECK(setting(json, "HEDDLE_LOG").at("source") == "default");
  CHECK(json.at("advertised").at(0) == "127.0.0.1");
  const Outcome text = heddle_info("", variables);
  CHECK(has(text.output, "HEDDLE_SLOTS   16     from the environment\n"));
  CHECK(has(text.output, "off (HEDDLE_SHM=0)"));
  const Outcome table = heddle_info("--settings", variables);
  CHECK(table.status == 0);
  CHECK(has(table.output, "HEDDLE_EAGER_BYTES"));
  for (const auto& output : {page.output, text.output, table.output}) CHECK(!has(output, "hush"));
}

TEST_CASE("what would end a job is told, and the rest is still there") {
  const auto [variable, why] = GENERATE(table<std::string, std::string>({
      {"HEDDLE_IFACE=ib77", "HEDDLE_IFACE=ib77: there is no interface \\\"ib77\\\""},
      {"HEDDLE_PROVIDER=no-such", "HEDDLE_PROVIDER=no-such"},
      {"HEDDLE_SLOTS=many", "HEDDLE_SLOTS=many: allowed is 4 to 64"},
  }));
  const Outcome outcome = heddle_info("--json", variable);
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(has(outcome.output, why));
  const Json page = Json::parse(outcome.output);
  CHECK(page.at("problems").size() == 1);
  CHECK(!page.at("interfaces").empty());
  CHECK(!page.at("providers").empty());
  CHECK(has(heddle_info("", variable).output, "\nA job here would fail\n"));
}

TEST_CASE("an unknown variable is a warning with the nearest name") {
  const Outcome outcome = heddle_info("--json", "HEDDLE_SLOT=8");
  REQUIRE(outcome.status == 0);
  const Json page = Json::parse(outcome.output);
  REQUIRE(page.at("warnings").size() == 1);
  CHECK(has(page.at("warnings").at(0), "did you mean HEDDLE_SLOTS?"));
}

TEST_CASE("bytes that are not UTF-8 do not break the JSON") {
  const Outcome outcome = heddle_info("--json", "HEDDLE_HOSTID=\"$(printf 'a\\377b')\"");
  REQUIRE(outcome.status == 0);
  CHECK(setting(Json::parse(outcome.output), "HEDDLE_HOSTID").at("value") != "");
}

TEST_CASE("flags") {
  CHECK(heddle_info("--help").status == 0);
  CHECK(has(heddle_info("--help").output, "--settings-markdown"));
  CHECK(has(heddle_info("--version").output, "heddle "));
  CHECK(heddle_info("--no-such-flag").status != 0);
  CHECK(heddle_info("--settings", "HEDDLE_SHM=maybe").status == 1);
  CHECK(heddle_info("> /dev/full").status == 1);
}

TEST_CASE("a file that is no metrics is refused with file and line") {
  const std::string folder = "/tmp/heddle-info-metrics-" + std::to_string(getpid());
  std::ofstream(folder) << "heddle_process_info{host=\"h\",pid=\"1\",version=\"0\"} 1\nabc\n";
  const Outcome broken = heddle_info("--metrics " + folder);
  CHECK(broken.status == 1);
  CHECK(has(broken.output, folder + ":2: is no metric of Heddle"));
  std::ofstream(folder) << "heddle_rail_links{rail=\"r0\",provider=\"p\"} 1\n";
  CHECK(has(heddle_info("--metrics " + folder).output, "does not begin with heddle_process_info"));
  std::remove(folder.c_str());
  CHECK(has(heddle_info("--metrics " + folder).output, "cannot be read"));
}

TEST_CASE("docs/settings.md is what the table says") {
  std::ifstream file(HEDDLE_SETTINGS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const Outcome outcome = heddle_info("--settings-markdown", "HEDDLE_SLOTS=16");
  CHECK(outcome.status == 0);
  // Different? heddle-info --settings-markdown > docs/settings.md
  CHECK(page.str() == outcome.output);
}
