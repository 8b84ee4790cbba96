// HEDDLE_METRICS_FILE: what a process tells about itself while it runs and after.
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "metrics_file.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

long long failed(const std::string& operation) {
  return value_of("heddle_operations_failed_total", "operation=\"" + operation + "\"");
}
long long bytes(const std::string& operation) {
  return value_of("heddle_operations_bytes_total", "operation=\"" + operation + "\"");
}

}  // namespace

// The counts are the process's: cases look at what is added.
TEST_CASE("the file counts operations and bytes of a process") {
  run_ranks(
      1, [](Communicator&, int) {}, kMetricsSetting);
  const auto all_reduce = done("all-reduce"), all_gather = done("all-gather");
  const auto barrier = done("barrier");
  const auto reduced = bytes("all-reduce"), gathered = bytes("all-gather");
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
      kMetricsSetting);
  CHECK(done("all-reduce") == all_reduce + 6);
  CHECK(bytes("all-reduce") == reduced + 24000);
  CHECK(done("all-gather") == all_gather + 3);
  CHECK(bytes("all-gather") == gathered + 36000);
  CHECK(done("barrier") == barrier + 3);
  CHECK(bytes("barrier") == 0);
}

TEST_CASE("the file counts operations that fail") {
  run_ranks(
      1, [](Communicator&, int) {}, kMetricsSetting);
  const auto before = failed("all-reduce");
  ends_of_ranks(
      2,
      [](Communicator& communicator, int rank) {
        std::vector<float> values(rank == 0 ? 1000 : 1001, 1.0F);
        communicator.all_reduce(values, Op::sum);
      },
      kMetricsSetting);
  CHECK(failed("all-reduce") > before);
}

TEST_CASE("the file tells what goes over the rails, while the job runs and after") {
  const std::string rail = "rail=\"lo\"";
  long long sent = 0;
  for (int round = 0; round < 3; ++round) {
    const auto before = round == 0 ? 0 : done("all-reduce");
    run_ranks(
        2,
        [&](Communicator& communicator, int rank) {
          std::vector<float> values(1 << 20, 1.0F);
          communicator.all_reduce(values, Op::sum);
          communicator.barrier();
          if (rank != 0) return;
          const base::Deadline deadline(base::Seconds(10));
          while (round > 0 && done("all-reduce") < before + 2) {
            expect(!deadline.passed(), "an operation is not told within 10 s");
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          }
        },
        std::string(kMetricsSetting) + " HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp HEDDLE_IFACE=lo");
    // Each round opens a fabric of its own; the sums stay.
    const auto now = value_of("heddle_rail_sent_bytes_total", rail);
    CHECK(now >= sent + (4 << 20));
    sent = now;
  }
  std::remove(metrics_file().c_str());
}

TEST_CASE("a file that cannot be written ends the start, not the job") {
  const auto errors = errors_of_ranks(
      2, [](Communicator&, int) {}, "HEDDLE_METRICS_FILE=/no-such-folder/metrics");
  for (const auto& error : errors)
    CHECK_THAT(error, Catch::Matchers::Contains("HEDDLE_METRICS_FILE=/no-such-folder/metrics: ") &&
                          Catch::Matchers::Contains("cannot be written"));
}

}  // namespace heddle::test
