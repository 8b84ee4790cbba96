#include <array>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "bench/stand_in.hpp"
#include "catch.hpp"
#include "harness/measure.hpp"
#include "harness/report.hpp"

using namespace heddle::bench;
using heddle::Op;

namespace {

const std::array kAll = {&kAllReduce, &kAllGather, &kReduceScatter, &kBroadcast,   &kReduce,
                         &kGather,    &kScatter,   &kAllToAll,      &kSendReceive, &kHypercube};

// The row that rank 0 gets, with the last rank as the root; all ranks get the same sums and
// extremes.
Row measured(const Benchmark& benchmark, int ranks, const Options& options, std::size_t bytes,
             heddleDataType_t type, const StandIn::Spoil& spoil = {}) {
  std::mutex mutex;
  std::optional<Row> result;
  on_threads(ranks, spoil, [&](Control& control, Session& session) {
    Measurement measurement(benchmark, options, control, session);
    const Case what{type, Op::sum, ranks - 1};
    measurement.warm_up(what);
    const Row row = measurement.measure(bytes, what);
    const std::lock_guard lock(mutex);
    if (control.rank() == 0) result = row;
  });
  return result.value();
}

Options small_options() {
  Options options;
  options.min_bytes = 8;
  options.max_bytes = 1 << 20;
  options.iterations = 2;
  options.check = 2;
  return options;
}

}  // namespace

TEST_CASE("right data of every operation passes in both halves") {
  for (const Benchmark* benchmark : kAll)
    for (const int ranks : {1, 2, 3, 4, 5})
      for (const heddleDataType_t type : {heddleFloat32, heddleUint32}) {
        CAPTURE(benchmark->name, ranks, name_of(type));
        if (benchmark->power_of_two && ranks % 2 != 0 && ranks > 1) continue;
        const Row row = measured(*benchmark, ranks, small_options(), 1 << 20, type);
        CHECK(row.out_of_place.wrong == 0.0);
        CHECK(row.in_place.has_value() == benchmark->in_place);
        if (row.in_place) CHECK(row.in_place->wrong == 0.0);
        CHECK(row.out_of_place.bad_checks == 0);
        CHECK(row.out_of_place.times.min > 0);
        CHECK(row.out_of_place.times.min <= row.out_of_place.times.mean);
        CHECK(row.out_of_place.times.mean <= row.out_of_place.times.max);
      }
}

TEST_CASE("size and count follow the parts of the buffers") {
  const Row reduce = measured(kAllReduce, 3, small_options(), 1000, heddleFloat32);
  CHECK(reduce.bytes == 1000);
  CHECK(reduce.count == 250);
  CHECK(reduce.op == Op::sum);
  const Row gather = measured(kAllGather, 3, small_options(), 1000, heddleFloat32);
  CHECK(gather.count == 80);
  CHECK(gather.bytes == 960);
  CHECK_FALSE(gather.op.has_value());
  const Row scatter = measured(kReduceScatter, 3, small_options(), 8, heddleFloat32);
  CHECK(scatter.count == 0);
  CHECK(scatter.bytes == 0);
  CHECK(scatter.out_of_place.wrong == 0.0);
  const Row all_to_all = measured(kAllToAll, 3, small_options(), 1000, heddleFloat32);
  CHECK(all_to_all.count == 80);
  CHECK(all_to_all.bytes == 960);
  const Row exchange = measured(kSendReceive, 3, small_options(), 1000, heddleFloat32);
  CHECK(exchange.bytes == 1000);
  CHECK(exchange.op == Op::sum);  // nccl-tests names one
}

TEST_CASE("the root is that of the operation, or -1 for those without one") {
  for (const Benchmark* benchmark : {&kBroadcast, &kReduce, &kGather, &kScatter})
    CHECK(measured(*benchmark, 3, small_options(), 64, heddleFloat32).root == 2);
  for (const Benchmark* benchmark : {&kAllReduce, &kAllToAll, &kSendReceive})
    CHECK(measured(*benchmark, 3, small_options(), 64, heddleFloat32).root == -1);
}

TEST_CASE("bandwidths are the bytes over the time that was chosen") {
  Options options = small_options();
  options.average = Average::max;
  // nccl-tests' factors for four ranks. Its hypercube counts what a rank receives.
  struct Expected {
    const Benchmark* benchmark;
    double counted, factor;
  };
  for (const auto& [benchmark, counted, factor] :
       {Expected{&kAllReduce, 1, 1.5}, Expected{&kAllGather, 1, 0.75},
        Expected{&kReduceScatter, 1, 0.75}, Expected{&kBroadcast, 1, 1}, Expected{&kReduce, 1, 1},
        Expected{&kGather, 1, 0.75}, Expected{&kScatter, 1, 0.75}, Expected{&kAllToAll, 1, 0.75},
        Expected{&kSendReceive, 1, 1}, Expected{&kHypercube, 0.75, 1}}) {
    CAPTURE(benchmark->name);
    const Row row = measured(*benchmark, 4, options, 1 << 20, heddleFloat32);
    const Half& half = row.out_of_place;
    CHECK(half.algbw == Approx(counted * 1048576 / half.times.max / 1e9));
    CHECK(half.busbw == Approx(half.algbw * factor));
  }
}

TEST_CASE("one spoilt element of one rank is found in every position and operation") {
  for (const Benchmark* benchmark : kAll)
    for (const double where : {0.0, 0.5, 1.0}) {
      CAPTURE(benchmark->name, where);
      // A hypercube of more would pass on what was spoilt.
      const int ranks = benchmark->power_of_two ? 2 : 3;
      const auto spoil = [&](int rank, void* output, std::size_t bytes) {
        if (rank != ranks - 1 || bytes == 0) return;  // the root, where there is one
        const auto at = static_cast<std::size_t>(where * static_cast<double>(bytes - 1));
        static_cast<std::uint8_t*>(output)[at] ^= 1;
      };
      const Row row = measured(*benchmark, ranks, small_options(), 1 << 16, heddleFloat32, spoil);
      CHECK(row.out_of_place.wrong == 1.0);
      if (row.in_place) CHECK(row.in_place->wrong == 1.0);
      CHECK(row.out_of_place.bad_checks == 1);
    }
}

TEST_CASE("a write where only the root has an output is found") {
  for (const Benchmark* benchmark : {&kReduce, &kGather}) {
    CAPTURE(benchmark->name);
    const auto spoil = [](int rank, void* output, std::size_t bytes) {
      if (rank == 0 && bytes == 0) static_cast<std::uint8_t*>(output)[5] ^= 1;  // not the root
    };
    const Row row = measured(*benchmark, 3, small_options(), 1 << 12, heddleFloat32, spoil);
    CHECK(row.out_of_place.wrong == 1.0);
    CHECK(row.in_place->wrong == 1.0);
  }
}

TEST_CASE("an operation that does nothing is wrong everywhere") {
  const auto spoil = [](int, void* output, std::size_t bytes) { std::memset(output, 0xff, bytes); };
  const Row row = measured(kAllReduce, 2, small_options(), 1 << 16, heddleFloat32, spoil);
  CHECK(row.out_of_place.wrong == 2.0 * (1 << 14));
  CHECK(row.out_of_place.bad_checks == 2);
}

TEST_CASE("without checks nothing is said of the data") {
  Options options = small_options();
  options.check = 0;
  const auto spoil = [](int, void* output, std::size_t bytes) { std::memset(output, 0xff, bytes); };
  const Row row = measured(kAllReduce, 2, options, 64, heddleFloat32, spoil);
  CHECK_FALSE(row.out_of_place.wrong.has_value());
  CHECK_FALSE(row.in_place->wrong.has_value());
}

namespace {

constexpr double kLate = 0.010;  // seconds, of one rank of four at every operation

Row row_with_a_late_rank(Options options) {
  options.min_bytes = options.max_bytes = 1024;  // else the warm-up of every size is late too
  const auto late = [](int rank, void*, std::size_t) {
    if (rank == 2) std::this_thread::sleep_for(std::chrono::duration<double>(kLate));
  };
  return measured(kAllReduce, 4, options, 1024, heddleFloat32, late);
}

}  // namespace

namespace {

// Counts the barriers of one rank, each of which takes at least `seconds`.
class CountedBarriers : public Control {
 public:
  using Control::all_gather;
  CountedBarriers(Control& control, double seconds) : control_(control), seconds_(seconds) {}
  int rank() const override { return control_.rank(); }
  int ranks() const override { return control_.ranks(); }
  void barrier() override {
    ++barriers;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    control_.barrier();
  }
  void all_gather(const void* send, void* receive, std::size_t bytes) override {
    control_.all_gather(send, receive, bytes);
  }
  bool is_news(std::string_view failure) override { return control_.is_news(failure); }

  int barriers = 0;

 private:
  Control& control_;
  double seconds_;
};

struct Counted {
  int barriers;
  double seconds;  // of the out-of-place half
};
Counted counted(Blocking blocking, int aggregate, double seconds) {
  Options options = small_options();
  options.min_bytes = options.max_bytes = 64;
  options.blocking = blocking;
  options.aggregate = aggregate;
  options.check = 0;
  Counted result{};
  on_threads(1, {}, [&](Control& control, Session& session) {
    CountedBarriers barriers(control, seconds);
    Measurement measurement(kAllReduce, options, barriers, session);
    const Row row = measurement.measure(64, {heddleFloat32, Op::sum, 0});
    result = {barriers.barriers, row.out_of_place.times.max};
  });
  return result;
}

}  // namespace

TEST_CASE("-z sets barriers between operations or iterations, or none") {
  constexpr int kHalves = 2, kIterations = 2, kAggregate = 3;
  const int none = counted(Blocking::none, kAggregate, 0).barriers;
  CHECK(none == kHalves);
  CHECK(counted(Blocking::wait, kAggregate, 0).barriers == none);
  CHECK(counted(Blocking::each_operation, kAggregate, 0).barriers ==
        none + kHalves * kIterations * kAggregate);
  CHECK(counted(Blocking::each_iteration, kAggregate, 0).barriers == none + kHalves * kIterations);
}

TEST_CASE("-z 1 counts the time of its barriers, -z 3 does not") {
  constexpr double kLong = 0.5;  // seconds of a barrier; an operation takes microseconds
  CHECK(counted(Blocking::each_operation, 1, kLong).seconds >= kLong);
  CHECK(counted(Blocking::each_iteration, 1, kLong).seconds < kLong);
}

TEST_CASE("late-joiner") {
  Options options = small_options();
  options.average = Average::max;
  const Row row = row_with_a_late_rank(options);
  CHECK(row.out_of_place.times.by(options.average) >= kLate);
  CHECK(row.out_of_place.times.max >= kLate);
  CHECK(row.out_of_place.algbw <= 1024 / kLate / 1e9);
}

TEST_CASE("late-joiner: the reports show the longest time, whatever the table shows") {
  const Options options = small_options();
  REQUIRE(options.average == Options{}.average);
  Row row = row_with_a_late_rank(options);
  REQUIRE(row.out_of_place.times.max >= kLate);
  // Of the others nothing else can be as long.
  row.out_of_place.times = {1e-6, 2e-6, 1e-6, row.out_of_place.times.max};
  const double longest = row.out_of_place.times.max * 1e6;
  const Run run{"all_reduce_perf", options, std::vector<RankPlace>(4), "net", 100};

  const auto json = nlohmann::json::parse(json_report(run, {row}, Totals{}, "start", "end"));
  const auto& half = json.at("results").at(0).at("out_of_place");
  CHECK(half.at("over_ranks").at("max_us").get<double>() == Approx(longest));
  CHECK(half.at("time").get<double>() == Approx(2));

  // The header names the columns of the line after it.
  std::istringstream csv(csv_report(run, {row}));
  std::string names, values;
  std::getline(csv, names);
  std::getline(csv, values);
  const auto cell = [](const std::string& line, std::size_t at) {
    std::istringstream cells(line);
    std::string text;
    for (std::size_t i = 0; i <= at; ++i) std::getline(cells, text, ',');
    return text;
  };
  std::size_t column = 0;
  while (cell(names, column) != "max_us" && column < 20) ++column;
  CHECK(std::stod(cell(values, column)) == Approx(longest).margin(0.001));
}
