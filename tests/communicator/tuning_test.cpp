// What a communicator takes from HEDDLE_TUNING_FILE beside the choice of algorithms.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Contains;

class TuningFile {
 public:
  explicit TuningFile(const std::string& adapters) {
    const int fd = mkstemp(path_.data());
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(path_) << R"({"name": "loom", "ranks_per_host": 2,
      "rank": {"copy_bandwidth_gb_per_s": 10, "reduce_bandwidth_gb_per_s": 10},
      "inner": {"bandwidth_gb_per_s": 10}, "adapters": {)"
                         << adapters << "}}";
  }
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;
  ~TuningFile() { unlink(path_.c_str()); }
  std::string setting() const { return "HEDDLE_SHM=0 HEDDLE_TUNING_FILE=" + path_ + " "; }

 private:
  std::string path_ = "/tmp/heddle-tuning-XXXXXX";
};

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

}  // namespace heddle::test
