#include <chrono>
#include <mutex>
#include <optional>

#include "bench/stand_in.hpp"
#include "catch.hpp"
#include "harness/measure.hpp"

using namespace heddle::bench;
using heddle::Op;

namespace {

// The row that rank 0 gets; all ranks get the same sums and extremes.
Row measured(const Benchmark& benchmark, int ranks, const Options& options, std::size_t bytes,
             heddleDataType_t type, const StandIn::Spoil& spoil = {}) {
  std::mutex mutex;
  std::optional<Row> result;
  on_threads(ranks, spoil, [&](Control& control, Session& session) {
    Measurement measurement(benchmark, options, control, session);
    measurement.warm_up(type, Op::sum);
    const Row row = measurement.measure(bytes, type, Op::sum);
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

TEST_CASE("right data of every collective passes in both halves") {
  for (const Benchmark* benchmark : {&kAllReduce, &kAllGather, &kReduceScatter})
    for (const int ranks : {1, 2, 3, 5})
      for (const heddleDataType_t type : {heddleFloat32, heddleUint32}) {
        CAPTURE(benchmark->name, ranks, name_of(type));
        const Row row = measured(*benchmark, ranks, small_options(), 1 << 20, type);
        CHECK(row.out_of_place.wrong == 0.0);
        CHECK(row.in_place.wrong == 0.0);
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
}

TEST_CASE("bandwidths are the bytes over the time that was chosen") {
  Options options = small_options();
  options.average = Average::max;
  for (const Benchmark* benchmark : {&kAllReduce, &kAllGather}) {
    const Row row = measured(*benchmark, 4, options, 1 << 20, heddleFloat32);
    const Half& half = row.out_of_place;
    CHECK(half.algbw == Approx(1048576 / half.times.max / 1e9));
    CHECK(half.busbw == Approx(half.algbw * (benchmark == &kAllReduce ? 1.5 : 0.75)));
  }
}

TEST_CASE("one spoilt element of one rank is found in every position and collective") {
  for (const Benchmark* benchmark : {&kAllReduce, &kAllGather, &kReduceScatter})
    for (const double where : {0.0, 0.5, 1.0}) {
      CAPTURE(benchmark->name, where);
      const auto spoil = [&](int rank, void* output, std::size_t bytes) {
        if (rank != 1 || bytes == 0) return;
        const auto at = static_cast<std::size_t>(where * static_cast<double>(bytes - 1));
        static_cast<std::uint8_t*>(output)[at] ^= 1;
      };
      const Row row = measured(*benchmark, 3, small_options(), 1 << 16, heddleFloat32, spoil);
      CHECK(row.out_of_place.wrong == 1.0);
      CHECK(row.in_place.wrong == 1.0);
      CHECK(row.out_of_place.bad_checks == 1);
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
  CHECK_FALSE(row.in_place.wrong.has_value());
}

TEST_CASE("late-joiner") {
  using namespace std::chrono_literals;
  const auto late = [](int rank, void*, std::size_t) {
    if (rank == 2) std::this_thread::sleep_for(10ms);
  };
  Options options = small_options();
  options.average = Average::max;
  const Row row = measured(kAllReduce, 4, options, 1024, heddleFloat32, late);
  CHECK(row.out_of_place.times.by(options.average) >= 0.010);
  CHECK(row.out_of_place.times.max >= 0.010);
  CHECK(row.out_of_place.algbw <= 1024 / 0.010 / 1e9);
}
