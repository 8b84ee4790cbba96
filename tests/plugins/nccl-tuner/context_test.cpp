// How a communicator's tuner starts: what it reads, what it says, and that nothing stops a job.
#include "nccl-tuner/context.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "nccl_table.hpp"
#include "support/temporary_folder.hpp"
#include "topology/machine_json.hpp"

namespace heddle::nccl_tuner {
namespace {

using abi::Function;
using Catch::Contains;
using namespace test;

struct Line {
  int level;
  std::string text;
};
std::mutex lines_mutex;
std::vector<Line> lines;

void keep(int level, unsigned long flags, const char* file, int, const char* format, ...) {
  char text[4096];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(lines_mutex);
  CHECK(flags == (abi::kInit | abi::kTuning));
  CHECK(file != nullptr);
  lines.push_back({level, text});
}

// HEDDLE_TUNING_FILE while it lives; null: not set.
class TuningFile {
 public:
  explicit TuningFile(const char* value) {
    lines.clear();
    if (value != nullptr)
      setenv("HEDDLE_TUNING_FILE", value, 1);
    else
      unsetenv("HEDDLE_TUNING_FILE");
  }
  TuningFile(const TuningFile&) = delete;
  TuningFile& operator=(const TuningFile&) = delete;
  ~TuningFile() { unsetenv("HEDDLE_TUNING_FILE"); }
};

// A context that does nothing, and a table that stays.
void check_idle(std::size_t ranks, std::size_t nodes) {
  void* context = nullptr;
  REQUIRE(make_context(ranks, nodes, keep, &context) == abi::Result::success);
  REQUIRE(context != nullptr);
  NcclTable table = all_reduce_table();
  CHECK(fill_table(context, Function::all_reduce, 1 << 20, table.as_declared(), 7, 3) ==
        abi::Result::success);
  CHECK(table == all_reduce_table());
  CHECK(drop_context(context) == abi::Result::success);
}

TEST_CASE("without a machine it says so once and leaves NCCL alone") {
  const TuningFile file(nullptr);
  check_idle(16, 2);
  check_idle(32, 4);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == abi::kLogInfo);
  CHECK(lines[0].text ==
        "TUNER/Heddle: HEDDLE_TUNING_FILE is not set: no machine is known, and NCCL's own choices "
        "stay");
}

TEST_CASE("a bad file is told once, by line and field, and stops nothing") {
  const TemporaryFolder folder;
  std::string text(topology::presets().front().json);
  text.replace(text.find("\"hosts\": 2"), 10, "\"hosts\": \"many\"");
  folder.write("bad.json", text);
  const TuningFile file(folder.path("bad.json").c_str());
  check_idle(16, 2);
  check_idle(16, 2);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == abi::kLogWarn);
  CHECK_THAT(lines[0].text, Contains("HEDDLE_TUNING_FILE=") && Contains("bad.json:4: hosts: ") &&
                                Contains("NCCL's own choices stay"));
}

TEST_CASE("a file that is not there is told with the presets that are") {
  const TuningFile file("p5.48xlarg");
  check_idle(16, 2);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == abi::kLogWarn);
  CHECK_THAT(lines[0].text, Contains("HEDDLE_TUNING_FILE=p5.48xlarg") && Contains("p5.48xlarge"));
}

TEST_CASE("a bad setting of another name is told likewise") {
  const TuningFile file("p4d.24xlarge");
  setenv("HEDDLE_CHANNELS", "several", 1);
  check_idle(16, 2);
  unsetenv("HEDDLE_CHANNELS");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == abi::kLogWarn);
  CHECK_THAT(lines[0].text, Contains("HEDDLE_CHANNELS=several"));
}

TEST_CASE("worlds that cannot be are told and left alone") {
  const TuningFile file("p4d.24xlarge");
  for (const auto& [ranks, nodes] : {std::pair<std::size_t, std::size_t>{0, 0},
                                     {0, 1},
                                     {4, 0},
                                     {4, 5},
                                     {(1 << 20) + 1, 2},
                                     {~std::size_t{0}, 2}}) {
    lines.clear();
    check_idle(ranks, nodes);
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0].text, Contains("cannot be priced"));
  }
}

TEST_CASE("inside a node there is nothing to tune and nothing to say") {
  const TuningFile file("p4d.24xlarge");
  check_idle(1, 1);
  check_idle(8, 1);
  CHECK(lines.empty());
}

TEST_CASE("nulls are taken for what they are") {
  const TuningFile file("p4d.24xlarge");
  CHECK(make_context(16, 2, nullptr, nullptr) == abi::Result::success);
  void* context = nullptr;
  CHECK(make_context(16, 2, nullptr, &context) == abi::Result::success);
  CHECK(fill_table(context, Function::all_reduce, 8, nullptr, 7, 3) == abi::Result::success);
  NcclTable table = all_reduce_table();
  CHECK(fill_table(nullptr, Function::all_reduce, 8, table.as_declared(), 7, 3) ==
        abi::Result::success);
  CHECK(table == all_reduce_table());
  CHECK(drop_context(context) == abi::Result::success);
  CHECK(drop_context(nullptr) == abi::Result::success);
}

TEST_CASE("with a machine it says what it will choose, and communicators share the prices") {
  const TuningFile file("p5.48xlarge");
  const Context one(32, 4, keep), same(32, 4, keep), other(16, 2, keep);
  REQUIRE(one.prices() != nullptr);
  CHECK(one.prices() == same.prices());
  REQUIRE(other.prices() != nullptr);
  CHECK(one.prices() != other.prices());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].level == abi::kLogInfo);
  CHECK_THAT(lines[0].text, Contains("4 nodes of 8 ranks by the model of p5.48xlarge: all-reduce "
                                     "by tree, from ") &&
                                Contains("LL and LL128 only where NCCL has nothing else"));
  CHECK_THAT(lines[1].text, Contains("2 nodes of 8 ranks"));
}

TEST_CASE("nodes that are not alike are priced by the largest") {
  const TuningFile file("p5.48xlarge");
  const Context context(31, 4, keep), even(32, 4, keep);
  CHECK(context.prices() == even.prices());
}

TEST_CASE("what v2 may not choose against is seen") {
  const TuningFile file("p5.48xlarge");
  CHECK_FALSE(Context(16, 2, keep).user_chose());
  for (const char* variable : {"NCCL_ALGO", "NCCL_PROTO"}) {
    setenv(variable, "Ring", 1);
    CHECK(Context(16, 2, keep).user_chose());
    unsetenv(variable);
  }
}

TEST_CASE("two communicators in two threads do not meet") {
  const TuningFile file("p4d.24xlarge");
  const auto rows = [](void* context) {
    std::vector<NcclTable> tables;
    for (std::size_t bytes = 8; bytes < std::size_t{1} << 33; bytes *= 2) {
      tables.push_back(all_reduce_table());
      fill_table(context, Function::all_reduce, bytes, tables.back().as_declared(), 7, 3);
    }
    return tables;
  };
  const auto once = [&](std::size_t nodes) {
    void* context = nullptr;
    make_context(nodes * 8, nodes, nullptr, &context);
    auto tables = rows(context);
    drop_context(context);
    return tables;
  };
  const auto few = once(4), many = once(16);
  CHECK(few != many);
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (const std::size_t t : {std::size_t{0}, std::size_t{1}})
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        if (once(t == 0 ? 4 : 16) != (t == 0 ? few : many)) ++wrong[t];
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>{0, 0});
}

}  // namespace
}  // namespace heddle::nccl_tuner
