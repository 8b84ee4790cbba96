// HEDDLE_METRICS_FILE: what a process tells about itself while it runs and after.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/deadline.hpp"
#include "base/files.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

std::string file_of_this_process() { return base::expand_path("/tmp/heddle-metrics-test-%h-%p"); }

bool tells(const std::string& line) {
  const std::string path = file_of_this_process();
  return ("\n" + base::read_file(path, path)).find("\n" + line + "\n") != std::string::npos;
}

constexpr const char* kSettings = "HEDDLE_METRICS_FILE=/tmp/heddle-metrics-test-%h-%p";

}  // namespace

TEST_CASE("the file counts operations and bytes of a process") {
  run_ranks(
      3,
      [](Communicator& communicator, int) {
        std::vector<float> values(1000, 1.0F);
        std::vector<float> all(3000);
        communicator.all_reduce(values, Op::sum);
        communicator.all_reduce(values, Op::sum);
        communicator.all_gather(std::span<const float>(values), std::span<float>(all));
        communicator.barrier();
      },
      kSettings);
  CHECK(tells("heddle_operations_done_total{operation=\"all-reduce\"} 6"));
  CHECK(tells("heddle_operations_bytes_total{operation=\"all-reduce\"} 24000"));
  CHECK(tells("heddle_operations_done_total{operation=\"all-gather\"} 3"));
  CHECK(tells("heddle_operations_bytes_total{operation=\"all-gather\"} 36000"));
  CHECK(tells("heddle_operations_done_total{operation=\"barrier\"} 3"));
  CHECK(tells("heddle_operations_bytes_total{operation=\"barrier\"} 0"));
  CHECK(tells("heddle_operations_failed_total{operation=\"all-reduce\"} 0"));
  std::remove(file_of_this_process().c_str());
}

TEST_CASE("the file tells what goes over the rails while the job runs") {
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        std::vector<float> values(1 << 20, 1.0F);
        communicator.all_reduce(values, Op::sum);
        communicator.barrier();
        if (rank != 0) return;
        const base::Deadline deadline(base::Seconds(10));
        const std::string rail = "rail=\"lo\"} ";
        while (!tells("heddle_operations_done_total{operation=\"all-reduce\"} 2")) {
          expect(!deadline.passed(), "an operation is not told within 10 s");
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        const std::string path = file_of_this_process();
        const std::string text = base::read_file(path, path);
        const auto sent = text.find("heddle_rail_sent_bytes_total{");
        expect(sent != std::string::npos && text.find(rail, sent) != std::string::npos,
               "no rail is told: " + text);
        const auto bytes = std::stoull(text.substr(text.find(rail, sent) + rail.size()));
        expect(bytes >= std::size_t{4} << 20, std::to_string(bytes) + " bytes sent");
      },
      std::string(kSettings) + " HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp HEDDLE_IFACE=lo");
  std::remove(file_of_this_process().c_str());
}

TEST_CASE("a file that cannot be written ends the start, not the job") {
  const auto errors = errors_of_ranks(
      2, [](Communicator&, int) {}, "HEDDLE_METRICS_FILE=/no-such-folder/metrics");
  for (const auto& error : errors)
    CHECK_THAT(error, Catch::Matchers::Contains("HEDDLE_METRICS_FILE=/no-such-folder/metrics: ") &&
                          Catch::Matchers::Contains("cannot be written"));
}

}  // namespace heddle::test
