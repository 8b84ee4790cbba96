// What a communicator takes from HEDDLE_TUNING_FILE beside the choice of algorithms.
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "collectives/schedule_json.hpp"
#include "collectives/select.hpp"
#include "ranks.hpp"
#include "temporary_file.hpp"

namespace heddle::test {
namespace {

using Catch::Contains;

class TuningFile {
 public:
  explicit TuningFile(const std::string& adapters)
      : file_(R"({"name": "loom", "ranks_per_host": 2,
      "rank": {"copy_bandwidth_gb_per_s": 10, "reduce_bandwidth_gb_per_s": 10},
      "inner": {"bandwidth_gb_per_s": 10}, "adapters": {)" +
              adapters + "}}") {}
  std::string setting() const { return "HEDDLE_SHM=0 HEDDLE_TUNING_FILE=" + file_.path() + " "; }

 private:
  TemporaryFile file_;
};

std::string log_of_an_all_reduce(const std::string& settings) {
  return log_of_ranks(
      2,
      [](Communicator& communicator, int) {
        std::vector<int> values(10);
        communicator.all_reduce(values, Op::sum);
      },
      settings);
}

// What rank 0 is told when the other rank's settings have `other` as well.
std::string told(const TuningFile& file, const std::string& own, const std::string& other) {
  const auto barrier = [](Communicator& communicator, int) { communicator.barrier(); };
  return errors_of_ranks(2, barrier,
                         [&](int rank) { return file.setting() + (rank == 0 ? own : other); })[0];
}

}  // namespace

TEST_CASE("the eager threshold of the file is used, and must be the same on all ranks") {
  const TuningFile file(R"("count": 1, "bandwidth_gb_per_s": 1, "eager_bytes": 2048)");
  CHECK(told(file, "", "") == "");
  CHECK(told(file, "", "HEDDLE_EAGER_BYTES=2048") == "");
  CHECK_THAT(told(file, "", "HEDDLE_EAGER_BYTES=8192"),
             Contains("HEDDLE_EAGER_BYTES=2048") && Contains("HEDDLE_EAGER_BYTES=8192"));
}

TEST_CASE("an eager threshold that was set wins over the file's") {
  const TuningFile file(R"("count": 1, "bandwidth_gb_per_s": 1, "eager_bytes": 2048)");
  CHECK_THAT(told(file, "HEDDLE_EAGER_BYTES=4096", "HEDDLE_EAGER_BYTES=8192"),
             Contains("HEDDLE_EAGER_BYTES=4096") && Contains("HEDDLE_EAGER_BYTES=8192"));
}

TEST_CASE("a file's eager threshold is at most what the setting may be") {
  const TuningFile file(R"("count": 1, "bandwidth_gb_per_s": 1, "eager_bytes": 1048576)");
  CHECK(told(file, "", "HEDDLE_EAGER_BYTES=64K") == "");
}

TEST_CASE("a file without a threshold leaves the default") {
  const TuningFile file(R"("count": 1, "bandwidth_gb_per_s": 1)");
  CHECK(told(file, "", "HEDDLE_EAGER_BYTES=8192") == "");
}

TEST_CASE("the log names the eager threshold with an operation between hosts, and only there") {
  const TuningFile file(R"("count": 1, "bandwidth_gb_per_s": 1, "eager_bytes": 2048)");
  const std::string settings = file.setting() + "HEDDLE_ALGO=ring ";
  CHECK_THAT(log_of_an_all_reduce(settings), Contains("bytes, eager up to 2048 (ring was asked"));
  CHECK_THAT(log_of_an_all_reduce(settings + "HEDDLE_EAGER_BYTES=4096"),
             Contains("bytes, eager up to 4096 (ring was asked"));
  CHECK_THAT(log_of_an_all_reduce("HEDDLE_ALGO=ring"),
             Contains("bytes (ring was asked for") && !Contains("eager"));
}

TEST_CASE("a schedule that does not fit a call is said to be passed over, once") {
  const TemporaryFile file(collectives::to_json(collectives::schedule_of(
      *collectives::algorithm_named("star"), {base::Collective::broadcast, 2, 1})));
  std::istringstream text(log_of_ranks(
      2,
      [](Communicator& communicator, int) {
        std::vector<int> values(10);
        for (int i = 0; i < 2; ++i) {
          communicator.broadcast(values.data(), values.data(), 10, heddleInt32, 0);
          communicator.broadcast(values.data(), values.data(), 5, heddleInt32, 1);
          communicator.broadcast(values.data(), values.data(), 6, heddleInt32, 1);
          communicator.all_reduce(values, Op::sum);
        }
      },
      "HEDDLE_SCHEDULE=" + file.path()));
  std::size_t times = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.find("in place of HEDDLE_SCHEDULE=" + file.path()) == std::string::npos) continue;
    ++times;
    INFO(line);
    if (line.find(" broadcast among 2 ranks") != std::string::npos)
      CHECK_THAT(line, Contains("WARN") && Contains("has root 0, and the call root 1"));
    else
      CHECK_THAT(line, Contains("INFO all-reduce") && Contains("is for broadcast"));
  }
  CHECK(times == 2);
}

TEST_CASE("files that cannot be those of a setting are refused at once, with the variable") {
  const auto noop = [](Communicator&, int) {};
  for (const std::string variable : {"HEDDLE_SCHEDULE", "HEDDLE_TUNING_FILE"})
    for (const std::string path : {"/dev/zero", "/tmp"}) {
      const std::string setting = variable + "=" + path;
      CHECK_THAT(errors_of_ranks(1, noop, setting)[0],
                 Contains(setting) && Contains("is a ") && Contains("a regular file"));
    }
}

}  // namespace heddle::test
