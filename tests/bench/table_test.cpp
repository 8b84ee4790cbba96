// Golden lines as nccl-tests prints them.
#include <cstring>

#include "bench/text.hpp"
#include "catch.hpp"
#include "harness/table.hpp"
#include "table/table.hpp"

using namespace heddle::bench;
using heddle::Op;

namespace {

Half half(double us, double algbw, double busbw, std::optional<double> wrong) {
  Half result;
  result.times = {us * 1e-6, us * 1e-6, us * 1e-6, us * 1e-6};
  result.algbw = algbw;
  result.busbw = busbw;
  result.wrong = wrong;
  return result;
}

const Row kRow{1048576,
               262144,
               heddleFloat32,
               Op::sum,
               -1,
               half(93.12, 11.26, 16.89, 0),
               half(93.12, 11.26, 16.89, std::nullopt)};

}  // namespace

TEST_CASE("the header has nccl-tests' three lines") {
  CHECK(header(Options{}) ==
        "#                                                              out-of-place              "
        "         in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
        "time   algbw   busbw  #wrong \n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
        "(us)  (GB/s)  (GB/s)         \n");
}

TEST_CASE("with CPU time the column says so") {
  Options options;
  options.cpu_time = true;
  CHECK(has(header(options), "    root  cputime   algbw   busbw  #wrong  cputime   algbw"));
}

TEST_CASE("a row has nccl-tests' columns") {
  CHECK(row_text(kRow, Average::mean, "") ==
        "     1048576        262144     float     sum      -1    93.12   11.26   16.89       0    "
        "93.12   11.26   16.89    N/A\n");
}

TEST_CASE("wrong elements and a time stamp have their places") {
  Row row = kRow;
  row.op.reset();
  row.out_of_place.wrong = 1234567;
  row.in_place = half(1234567, 0.001, 0, 3);
  CHECK(
      row_text(row, Average::max, "2026-01-02 03:04:05") ==
      "     1048576        262144     float    none      -1    93.12   11.26   16.89  1.23457e+06  "
      "1234567    0.00    0.00       3  2026-01-02 03:04:05\n");
}

TEST_CASE("a row without an in-place form has as many columns, and no part in the average") {
  Row row = kRow;
  row.op.reset();
  row.root = 3;
  row.in_place.reset();
  CHECK(
      row_text(row, Average::mean, "") ==
      "     1048576        262144     float    none       3    93.12   11.26   16.89       0      "
      "N/A     N/A     N/A    N/A\n");
  Totals totals;
  totals.add(row);
  CHECK(totals.halves == 1);
  CHECK(totals.mean_busbw() == Approx(16.89));
}

TEST_CASE("numbers keep their width as long as they can") {
  using heddle::table::number;
  CHECK(number(0, 7) == "   0.00");
  CHECK(number(9.876, 6) == "  9.88");
  CHECK(number(999.994, 6) == "999.99");
  CHECK(number(1234.5, 6) == "1234.5");
  CHECK(number(12345.6, 6) == " 12346");
  CHECK(number(123456, 6) == "123456");
  CHECK(number(1234567, 6) == "1.2e+06");
}

TEST_CASE("the footer counts bad checks and averages both halves") {
  Totals totals;
  totals.add(kRow);
  CHECK(footer("all_reduce_perf", totals) ==
        "# Out of bounds values : 0 OK\n"
        "# Avg bus bandwidth    : 16.89 \n"
        "#\n"
        "# Collective test concluded: all_reduce_perf\n"
        "#\n"
        "\n");
  Row bad = kRow;
  bad.in_place->bad_checks = 2;
  bad.in_place->busbw = 0.89;
  totals.add(bad);
  CHECK(has(footer("all_reduce_perf", totals),
            "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 12.89 \n"));
}

TEST_CASE("the preamble says program, sizes, ranks and what carries the data") {
  Options options;
  options.min_bytes = 8;
  options.factor = 2;
  RankPlace place;
  place.pid = 4321;
  std::strcpy(place.host, "loom");
  const Run run{"all_reduce_perf", options, {place, place}, "Network: shared memory", 100};
  CHECK(preamble(run) ==
        "# heddle-tests version 0.1.0 heddle-headers=100 heddle-library=100\n"
        "# Collective test starting: all_reduce_perf\n"
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 33554432 step: 2(factor) warmup iters: 1 iters: "
        "20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
        "#\n"
        "# Using devices\n"
        "#  Rank  0 Group  0 Pid   4321 on       loom device  0 [host] memory\n"
        "#  Rank  1 Group  0 Pid   4321 on       loom device  0 [host] memory\n"
        "#\n"
        "# Network: shared memory\n"
        "#\n");
}
