#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/stand_in.hpp"
#include "bench/text.hpp"
#include "catch.hpp"
#include "harness/run_table.hpp"

using namespace heddle::bench;

namespace {

// Standard output goes to a file as long as this lives.
class Captured {
 public:
  Captured()
      : path_(std::filesystem::temp_directory_path() /
              ("heddle_bench_" + std::to_string(getpid()))) {
    std::fflush(stdout);
    saved_ = dup(STDOUT_FILENO);
    const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, STDOUT_FILENO);
    close(file);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    restore();
    std::filesystem::remove(path_);
  }
  std::string text() {
    restore();
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    saved_ = -1;
  }
  std::filesystem::path path_;
  int saved_;
};

struct Outcome {
  std::array<int, 3> statuses;
  std::string text;
};

Outcome run(const Benchmark& benchmark, const Options& options, const StandIn::Spoil& spoil = {}) {
  Outcome outcome{};
  Captured captured;
  on_threads(3, spoil, [&](Control& control, Session& session) {
    outcome.statuses[static_cast<std::size_t>(control.rank())] =
        run_table(benchmark, options, control, session);
  });
  outcome.text = captured.text();
  return outcome;
}

Options table_options() {
  Options options;
  options.min_bytes = 64;
  options.max_bytes = 1024;
  options.factor = 4;
  options.iterations = 2;
  return options;
}

std::size_t rows_of(const std::string& text) {
  std::istringstream lines(text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) rows += !line.empty() && line[0] != '#';
  return rows;
}

}  // namespace

TEST_CASE("the table is printed once, with a row for each size, and ends well") {
  const Outcome outcome = run(kAllReduce, table_options());
  CHECK(outcome.statuses == std::array{0, 0, 0});
  CHECK(rows_of(outcome.text) == 3);
  CHECK(has(outcome.text, "# Network: stand-in of the tests\n"));
  CHECK(has(outcome.text, "\n          64            16     float     sum      -1 "));
  CHECK(has(outcome.text, "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
}

TEST_CASE("wrong data fails the program on every rank") {
  std::atomic<bool> spoilt = false;
  const auto spoil = [&](int rank, void* output, std::size_t bytes) {
    if (rank == 2 && bytes == 1024) static_cast<std::uint8_t*>(output)[100] ^= 0x80, spoilt = true;
  };
  const Outcome outcome = run(kAllReduce, table_options(), spoil);
  CHECK(spoilt);
  CHECK(outcome.statuses == std::array{kWrongData, kWrongData, kWrongData});
  CHECK(has(outcome.text, "# Out of bounds values : 2 FAILED\n"));
}

TEST_CASE("every type and cycle has its rows, in nccl-tests' order") {
  Options options = table_options();
  options.types = {heddleFloat32, heddleUint32};
  options.cycles = 2;
  const Outcome outcome = run(kAllGather, options);
  CHECK(outcome.statuses == std::array{0, 0, 0});
  CHECK(rows_of(outcome.text) == 12);
  CHECK(outcome.text.find(" float ") < outcome.text.find(" uint32 "));
}

TEST_CASE("every root has its rows, and one that is no rank is refused") {
  Options options = table_options();
  options.root = -1;
  const Outcome outcome = run(kBroadcast, options);
  CHECK(rows_of(outcome.text) == 9);
  for (const char* part : {" none       0 ", " none       1 ", " none       2 "})
    CHECK(has(outcome.text, part));
  options.root = 1;
  CHECK(has(run(kScatter, options).text, " none       1 "));
  CHECK(rows_of(run(kAllReduce, options).text) == 3);  // nccl-tests takes the flag there too
  options.root = 3;
  CHECK_THROWS_WITH(run(kReduce, options), "-r 3 of 3 ranks; allowed: -1 (every rank) to 2");
}

TEST_CASE("a hypercube needs a power of two") {
  CHECK_THROWS_WITH(run(kHypercube, table_options()), "3 ranks; allowed: powers of two");
}

TEST_CASE("reports are written by rank 0") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("heddle_reports_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  Options options = table_options();
  options.json = folder / "rows.json";
  options.csv = folder / "rows.csv";
  run(kReduceScatter, options);
  std::ostringstream json, csv;
  json << std::ifstream(options.json).rdbuf();
  csv << std::ifstream(options.csv).rdbuf();
  std::filesystem::remove_all(folder);
  CHECK(has(json.str(), "\"program\": \"reduce_scatter_perf\""));
  CHECK(has(json.str(), "\"over_ranks\""));
  CHECK(has(csv.str(), "\nreduce_scatter_perf,3,1008,84,float,sum,-1,in_place,"));
}
