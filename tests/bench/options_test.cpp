#include "harness/options.hpp"
#include "bench/text.hpp"
#include "catch.hpp"
#include "harness/benchmark.hpp"
#include "harness/names.hpp"

using namespace heddle::bench;
using heddle::Op;

namespace {

Options parse(const std::vector<std::string>& arguments) {
  return parse_options("all_reduce_perf", arguments);
}

Usage refused(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const Usage& usage) {
    return usage;
  }
  FAIL("accepted");
  return {"", 0};
}

}  // namespace

TEST_CASE("without flags the options are nccl-tests' defaults") {
  const Options options = parse({});
  CHECK(options.min_bytes == 32u << 20);
  CHECK(options.max_bytes == 32u << 20);
  CHECK(options.step_bytes == 1u << 20);
  CHECK(options.factor == 0);
  CHECK(options.iterations == 20);
  CHECK(options.aggregate == 1);
  CHECK(options.warmup == 1);
  CHECK(options.check == 1);
  CHECK(options.average == Average::mean);
  CHECK(options.types == std::vector{heddleFloat32});
  CHECK(options.ops == std::vector{Op::sum});
  CHECK(options.ranks == 0);
  CHECK(options.root == 0);
  CHECK(parse({"-r", "-1"}).root == -1);
  CHECK(settings_of(options).empty());
}

TEST_CASE("each flag is understood, short and long") {
  const Options options =
      parse({"-b", "8",  "-e", "64M", "-f",  "2",      "-n",   "5",     "-m", "3",          "-w",
             "2",  "-c", "0",  "-o",  "max", "-d",     "half", "-r",    "0",  "-z",         "1",
             "-a", "3",  "-C", "1",   "-S",  "1",      "-R",   "1",     "-g", "4",          "-t",
             "1",  "-T", "30", "-N",  "2",   "--json", "j",    "--csv", "c",  "--provider", "tcp"});
  CHECK(options.min_bytes == 8);
  CHECK(options.max_bytes == 64u << 20);
  CHECK(options.factor == 2);
  CHECK(options.iterations == 5);
  CHECK(options.aggregate == 3);
  CHECK(options.warmup == 2);
  CHECK(options.cycles == 2);
  CHECK(options.check == 0);
  CHECK(options.ops == std::vector{Op::max});
  CHECK(options.types == std::vector{heddleFloat16});
  CHECK(options.blocking == Blocking::each_operation);
  CHECK(options.average == Average::max);
  CHECK(options.cpu_time);
  CHECK(options.timestamps);
  CHECK(options.registration);
  CHECK(options.ranks == 4);
  CHECK(options.json == "j");
  CHECK(options.csv == "c");
  CHECK(settings_of(options) == "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp HEDDLE_TIMEOUT=30");

  const Options same = parse({"--minbytes=8",
                              "--maxbytes",
                              "1K",
                              "--stepbytes",
                              "8",
                              "--iters=7",
                              "--datatype",
                              "double",
                              "--op",
                              "min",
                              "--check",
                              "2",
                              "--ranks",
                              "3",
                              "--warmup_iters",
                              "4",
                              "--agg_iters",
                              "5",
                              "--average",
                              "0"});
  CHECK(same.min_bytes == 8);
  CHECK(same.max_bytes == 1024);
  CHECK(same.step_bytes == 8);
  CHECK(same.iterations == 7);
  CHECK(same.types == std::vector{heddleFloat64});
  CHECK(same.ops == std::vector{Op::min});
  CHECK(same.check == 2);
  CHECK(same.ranks == 3);
  CHECK(same.warmup == 4);
  CHECK(same.aggregate == 5);
  CHECK(same.average == Average::rank0);
}

TEST_CASE("all stands for every type and every operation") {
  const Options options = parse({"-d", "all", "-o", "all"});
  CHECK(options.types.size() == heddleNumTypes);
  CHECK(options.ops.size() == heddleNumOps + 1);
  CHECK(options.ops.back() == kMulSum);
}

TEST_CASE("an unknown type or operation is an error that lists what is allowed") {
  const Usage type = refused({"-d", "floot"});
  CHECK(type.status == kInvalidUsage);
  CHECK(has(type.what(), "\"floot\""));
  CHECK(has(type.what(), "uint8, int32"));
  CHECK(has(type.what(), "f8e5m2, all"));
  const Usage op = refused({"-o", "mulsun"});
  CHECK(op.status == kInvalidUsage);
  CHECK(has(op.what(), "\"mulsun\""));
  CHECK(has(op.what(), "sum, prod, max, min, avg, mulsum, all"));
}

TEST_CASE("bad flags are refused with invalid usage") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"-b", "x"},
                                             {"-e", "8Q"},
                                             {"-b", "1M", "-e", "1K"},
                                             {"-i", "0"},
                                             {"-f", "1"},
                                             {"-n", "0"},
                                             {"-t", "2"},
                                             {"-g", "0"},
                                             {"-a", "4"},
                                             {"-c", "-1"},
                                             {"--nothing"},
                                             {"stray"},
                                             {"-z", "9"},
                                             {"-n", "many"}}) {
    CAPTURE(arguments);
    const Usage usage = refused(arguments);
    CHECK(usage.status == kInvalidUsage);
    CHECK(std::string(usage.what()).size() > 10);
  }
}

TEST_CASE("help is no failure") {
  const Usage usage = refused({"--help"});
  CHECK(usage.status == 0);
  CHECK(has(usage.what(), "--minbytes"));
  CHECK(has(usage.what(), "--provider"));
}
