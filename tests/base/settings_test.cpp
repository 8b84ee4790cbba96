// The table of settings: strict values, misspelt names, where a value came from (case
// settings-table).
#include "base/settings.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "support/base_errors.hpp"

namespace heddle::base {
namespace {

using Catch::Matchers::Contains;

struct Loaded {
  Settings settings;
  std::vector<std::string> warnings;
};

Loaded load(const std::vector<std::string>& environment, std::string_view overrides = {}) {
  std::vector<const char*> pointers;
  for (const auto& entry : environment) pointers.push_back(entry.c_str());
  pointers.push_back(nullptr);
  Loaded loaded;
  loaded.settings = load_settings(pointers.data(), overrides, loaded.warnings);
  return loaded;
}

std::string error_of(const std::vector<std::string>& environment) {
  return test::error_of([&] { load(environment); }, heddleInvalidArgument);
}

}  // namespace

TEST_CASE("HEDDLE_RAILS is read whether or not anything goes over a fabric") {
  for (const char* value : {"0", "00", ",", "lo,", ",lo", "lo,lo", "a,b,a"})
    CHECK_THAT(error_of({std::string("HEDDLE_RAILS=") + value}), Contains("each once"));
  for (const char* value : {"all", "1", "16", "lo", "lo,eth0"})
    CHECK(error_of({std::string("HEDDLE_RAILS=") + value}).empty());
}

TEST_CASE("HEDDLE_ROOT is host:port with a port that can be") {
  for (const char* value :
       {"host", "host:", ":1", "host:0", "host:65536", "host:1K", "host:+1", "host: 1", "a b:1",
        "fd00::1:1", "[fd00::1]", "[fd00::1]:", "[host]:1", "[]:1", "[fd00::1:1", "1"})
    CHECK_THAT(error_of({std::string("HEDDLE_ROOT=") + value}), Contains("from 1 to 65535"));
  for (const char* value : {"host:1", "10.0.0.1:65535", "[fd00::1]:4000", "[fe80::1%eth0]:1"})
    CHECK(load({std::string("HEDDLE_ROOT=") + value}).settings.root == value);
}

TEST_CASE("words have no spaces") {
  for (const char* name : {"HEDDLE_HOSTID", "HEDDLE_SECRET"}) {
    for (const char* value : {" ", "a b", "a\tb", "a\n"})
      CHECK_THAT(error_of({std::string(name) + "=" + value}), Contains("without spaces"));
    CHECK(error_of({std::string(name) + "=a,b=c"}).empty());
  }
}

TEST_CASE("settings-table: every variable and every odd value") {
  const std::vector<std::string> odd = {
      "",     " 4 ", "abc",   "10x", "-1",  "0", "0x10", "8M", "18446744073709551616",
      "TRUE", "nan", "1e400", "4 4", "\x01"};
  for (const auto& row : settings_table())
    for (const auto& value : odd) {
      INFO(row.name << "=" << value);
      const std::vector<std::string> environment = {std::string(row.name) + "=" + value};
      const std::string error = error_of(environment);
      if (!error.empty()) {
        CHECK_THAT(error, Contains(std::string(row.name) + "=" + value));
        CHECK_THAT(error, Contains(std::string(row.allowed)));
        continue;
      }
      const Loaded loaded = load(environment);
      if (value.empty()) {
        REQUIRE(loaded.warnings.size() == 1);
        CHECK_THAT(loaded.warnings[0], Contains(std::string(row.name)));
      } else {
        CHECK(loaded.warnings.empty());
        // What was accepted is shown as it was given, in its plain form at most.
        CHECK_FALSE(row.show(loaded.settings).empty());
      }
    }
}

TEST_CASE("numbers and words are strict") {
  CHECK(load({"HEDDLE_CHANNELS=4"}).settings.channels == 4);
  for (const char* value : {" 4", "4 ", "+4", "0x4", "4.0", "17", "-1", "four"})
    CHECK_THAT(error_of({std::string("HEDDLE_CHANNELS=") + value}), Contains("0 to 16"));
  CHECK(load({"HEDDLE_SHM=off"}).settings.shm == false);
  for (const char* value : {"2", "TRUE", "no thanks"})
    CHECK_FALSE(error_of({std::string("HEDDLE_SHM=") + value}).empty());
  CHECK(load({"HEDDLE_ALGO=ring"}).settings.algo == "ring");
  CHECK(load({"HEDDLE_TIMEOUT=0.5"}).settings.timeout == 0.5);
  for (const char* value : {"0", "-3", "inf", "nan", "1e9"})
    CHECK_FALSE(error_of({std::string("HEDDLE_TIMEOUT=") + value}).empty());
}

TEST_CASE("sizes") {
  std::size_t bytes = 0;
  CHECK((parse_size("8", bytes) && bytes == 8));
  CHECK((parse_size("64K", bytes) && bytes == 65536));
  CHECK((parse_size("2M", bytes) && bytes == 2 << 20));
  CHECK((parse_size("1G", bytes) && bytes == 1 << 30));
  for (const char* text : {"", "K", "-1", "1T", "1 K", "1KB", "18446744073709551616",
                           "9223372036854775808", "9007199254740992K"})
    CHECK_FALSE(parse_size(text, bytes));
}

TEST_CASE("a misspelt name is told, with the nearest one") {
  const Loaded loaded = load({"HEDDLE_CHANELS=4", "PATH=/bin", "HEDDLEX=1"});
  REQUIRE(loaded.warnings.size() == 1);
  CHECK_THAT(loaded.warnings[0], Contains("HEDDLE_CHANELS") && Contains("HEDDLE_CHANNELS?"));
}

TEST_CASE("what stand-ins read from the environment is none of ours, and no mistake") {
  CHECK(load({"HEDDLE_EMULATED_EFA=4", "HEDDLE_EMULATED_EFA_SEED=1"}).warnings.empty());
  CHECK(load({}, "HEDDLE_EMULATED_EFA=4").warnings.size() == 1);
}

TEST_CASE("a setting without a name is told as that") {
  const Loaded loaded = load({"HEDDLE_=4", "HEDDLE_=", "=4", "="});
  REQUIRE(loaded.warnings.size() == 2);
  for (const auto& warning : loaded.warnings)
    CHECK(warning == "the environment has a variable HEDDLE_ without the name of a setting");
  for (const char* overrides : {"=", "=4", "HEDDLE_SLOTS=8 =x"})
    CHECK_THROWS_WITH(load({}, overrides), Contains("is not NAME=value"));
}

TEST_CASE("a communicator's own settings win over the environment") {
  const Loaded loaded =
      load({"HEDDLE_CHANNELS=4", "HEDDLE_ALGO=tree"}, "HEDDLE_CHANNELS=2  HEDDLE_SLOTS=16");
  CHECK(loaded.settings.channels == 2);
  CHECK(loaded.settings.slots == 16);
  const auto source = [&](std::string_view name) {
    for (std::size_t i = 0; i < settings_table().size(); ++i)
      if (settings_table()[i].name == name) return loaded.settings.sources[i];
    return std::string_view("no such row");
  };
  CHECK(source("HEDDLE_CHANNELS") == "config");
  CHECK(source("HEDDLE_ALGO") == "environment");
  CHECK(source("HEDDLE_LOG") == "default");
}

}  // namespace heddle::base
