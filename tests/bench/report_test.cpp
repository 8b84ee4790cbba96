#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/text.hpp"
#include "catch.hpp"
#include "harness/report.hpp"

using namespace heddle::bench;
using heddle::Op;

namespace {

Row sample_row() {
  Row row{64, 16, heddleFloat32, Op::sum, 2, {}, Half{}};
  row.out_of_place.times = {1e-6, 2e-6, 1e-6, 3e-6};
  row.out_of_place.wrong = 5;
  row.out_of_place.bad_checks = 1;
  return row;
}

const Run kRun{"all_reduce_perf", Options{}, {RankPlace{}, RankPlace{}}, "net", 100};

}  // namespace

TEST_CASE("the JSON report holds rows, spread over ranks and the verdict, and no secrets") {
  setenv("HEDDLE_SECRET", "hush", 1);
  setenv("HEDDLE_BENCH_TEST", "seen", 1);
  setenv("UNRELATED_TOKEN", "private", 1);
  Totals totals;
  totals.add(sample_row());
  const std::string text = json_report(kRun, {sample_row()}, totals, "start", "end");
  unsetenv("HEDDLE_SECRET");
  unsetenv("HEDDLE_BENCH_TEST");
  unsetenv("UNRELATED_TOKEN");
  CHECK(has(text, "\"HEDDLE_BENCH_TEST=seen\""));
  CHECK_FALSE(has(text, "hush"));
  CHECK_FALSE(has(text, "private"));
  for (const char* part :
       {"\"size\": 64", "\"redop\": \"sum\"", "\"nwrong\": 5.0", "\"nwrong\": null",
        "\"max_us\": 3.0", "\"root\": \"2\"", "\"count\": 1,", "\"okay\": \"false\""}) {
    CAPTURE(part, text);
    CHECK(has(text, part));
  }
}

TEST_CASE("the CSV report has a line for each half") {
  CHECK(csv_report(kRun, {sample_row()}) ==
        "program,ranks,size,count,type,redop,root,place,time_us,min_us,avg_us,max_us,algbw,busbw,"
        "wrong\n"
        "all_reduce_perf,2,64,16,float,sum,2,out_of_place,2.000,1.000,2.000,3.000,0,0,5\n"
        "all_reduce_perf,2,64,16,float,sum,2,in_place,0.000,0.000,0.000,0.000,0,0,\n");
}

TEST_CASE("without an in-place form the reports have no half for it") {
  Row row = sample_row();
  row.in_place.reset();
  CHECK_FALSE(has(csv_report(kRun, {row}), "in_place"));
  CHECK(has(json_report(kRun, {row}, Totals{}, "start", "end"), "\"in_place\": null"));
}

TEST_CASE("a report replaces the file, and says which one it cannot write") {
  const auto path =
      std::filesystem::temp_directory_path() / ("heddle_report_" + std::to_string(getpid()));
  write_file(path.string(), "old, and longer");
  write_file(path.string(), "new");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str() == "new");
  std::filesystem::remove(path);
  try {
    write_file("/nonexistent/report", "x");
    FAIL("wrote into a folder that is not there");
  } catch (const heddle::Error& error) {
    CHECK(has(error.what(), "/nonexistent/report: No such file"));
  }
}
