// What HEDDLE_LOG=info tells first: version, provider, adapters, algorithm.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "child.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

// What two ranks of a fresh process log; it says its version but once.
std::string log_of(const std::string& settings) {
  const auto file =
      std::filesystem::temp_directory_path() / ("log_test." + std::to_string(getpid()));
  Child child([&] {
    const auto errors = errors_of_ranks(
        2,
        [](Communicator& communicator, int) {
          std::vector<float> values(100);
          communicator.all_reduce(values, Op::sum);
        },
        settings + " HEDDLE_LOG=info HEDDLE_LOG_FILE=" + file.string());
    for (const auto& error : errors) expect(error.empty(), error);
  });
  CHECK(child.wait(base::Seconds(20)).value_or(-1) == 0);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  return text.str();
}

}  // namespace

TEST_CASE("the log of a job on one host says that it needs no provider") {
  const std::string text = log_of("HEDDLE_SHM=1");
  CHECK_THAT(text, Contains("Heddle " + std::to_string(HEDDLE_MAJOR) + "."));
  CHECK_THAT(text, Contains("shared memory (one host); no provider is needed"));
  CHECK_THAT(text, Contains("all-reduce of 400 bytes among 2 ranks: "));
}

TEST_CASE("the log of a job over a fabric says which, and its rails") {
  const std::string text = log_of("HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  CHECK_THAT(text, Contains("Heddle " + std::to_string(HEDDLE_MAJOR) + "."));
  CHECK_THAT(text, Contains("Selected Provider is ") && Contains("rails: "));
  CHECK_THAT(text, Contains("data goes over libfabric provider "));
  CHECK_THAT(text, !Contains("no provider"));
  CHECK_THAT(text, Contains("all-reduce of 400 bytes among 2 ranks: "));
}

}  // namespace heddle::test
