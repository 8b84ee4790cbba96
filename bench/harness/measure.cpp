#include "harness/measure.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "harness/names.hpp"
#include "harness/sizes.hpp"

namespace heddle::bench {
namespace {

double seconds(bool cpu_time) {
  if (!cpu_time)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Parts larger(const Benchmark& benchmark) { return std::max(benchmark.send, benchmark.receive); }

}  // namespace

double Times::by(Average average) const {
  switch (average) {
    case Average::rank0: return rank0;
    case Average::min: return min;
    case Average::max: return max;
    default: return mean;
  }
}

Measurement::Measurement(const Benchmark& benchmark, const Options& options, Control& control,
                         Session& session)
    : benchmark_(benchmark), options_(options), control_(control), session_(session) {
  const std::size_t bytes = std::max<std::size_t>(options.max_bytes, 64);
  send_ = static_cast<std::byte*>(session.allocate(bytes));
  receive_ = static_cast<std::byte*>(session.allocate(bytes));
}

std::size_t Measurement::count_of(std::size_t bytes, heddleDataType_t type) const {
  return part_count(bytes, size_of(type),
                    static_cast<std::size_t>(number_of(larger(benchmark_), control_.ranks())));
}

std::size_t Measurement::bytes_of(const Step& step, Parts parts) const {
  return step.call.count * size_of(step.call.type) *
         static_cast<std::size_t>(number_of(parts, step.ranks));
}

// In place, both buffers lie in receive_: the one with a single part is this rank's part of the
// one with many.
Step Measurement::step(std::size_t count, const Case& what, bool in_place) const {
  Step step{control_.rank(),
            control_.ranks(),
            in_place,
            {send_, receive_, count, what.type, what.op, what.root}};
  if (!in_place) return step;
  std::byte* own = receive_ + static_cast<std::size_t>(step.rank) * bytes_of(step, Parts::one);
  step.call.send = benchmark_.send < benchmark_.receive ? own : receive_;
  step.call.receive = benchmark_.receive < benchmark_.send ? own : receive_;
  return step;
}

Pattern Measurement::pattern(const Step& step, unsigned seed) const {
  return Pattern(step.call.type,
                 benchmark_.reduces ? std::optional<Op>(step.call.op) : std::nullopt, step.ranks,
                 seed);
}

// Poison first: in place, the send buffer is part of the receive buffer, or the reverse.
void Measurement::prepare(const Step& step, unsigned seed) {
  std::memset(step.call.receive, kPoison, bytes_of(step, benchmark_.receive));
  auto* send = static_cast<std::byte*>(const_cast<void*>(step.call.send));  // one of our own two
  benchmark_.fill(pattern(step, seed), step, send);
}

void Measurement::warm_up(const Case& what) {
  for (const std::size_t bytes : size_steps(options_.min_bytes, options_.max_bytes, 1, 2)) {
    const Step out_of_place = step(count_of(bytes, what.type), what, false);
    for (int i = 0; i < options_.warmup; ++i) benchmark_.run(session_, out_of_place);
  }
}

Row Measurement::measure(std::size_t bytes, const Case& what) {
  Row row;
  row.count = count_of(bytes, what.type);
  row.type = what.type;
  if (benchmark_.reduces || benchmark_.names_op) row.op = what.op;
  if (benchmark_.rooted) row.root = what.root;
  const Step out_of_place = step(row.count, what, false);
  row.bytes = bytes_of(out_of_place, larger(benchmark_));
  row.out_of_place = measure_half(out_of_place, row.bytes);
  if (benchmark_.in_place) row.in_place = measure_half(step(row.count, what, true), row.bytes);
  return row;
}

Half Measurement::measure_half(const Step& step, std::size_t bytes) {
  Half half;
  half.times = time(step);
  if (options_.check > 0) check(step, half);
  const double seconds = half.times.by(options_.average);
  const double counted = static_cast<double>(bytes) * benchmark_.counted(step.ranks);
  half.algbw = seconds > 0 ? counted / seconds / 1e9 : 0;
  half.busbw = half.algbw * benchmark_.factor(step.ranks);
  return half;
}

Times Measurement::time(const Step& step) {
  prepare(step, 0);
  // Sums repeated in place would overflow, and products become subnormal numbers, which processors
  // are slow with: zeros stay zeros.
  if (step.in_place) std::memset(receive_, 0, bytes_of(step, larger(benchmark_)));
  for (int i = 0; i < options_.warmup; ++i) benchmark_.run(session_, step);
  control_.barrier();
  double start = seconds(options_.cpu_time);
  for (int i = 0; i < options_.iterations; ++i) {
    for (int j = 0; j < options_.aggregate; ++j) {
      benchmark_.run(session_, step);
      if (options_.blocking == Blocking::each_operation) control_.barrier();
    }
    if (options_.blocking != Blocking::each_iteration) continue;
    const double before = seconds(options_.cpu_time);
    control_.barrier();
    start += seconds(options_.cpu_time) - before;
  }
  const double time =
      (seconds(options_.cpu_time) - start) / options_.iterations / options_.aggregate;
  const std::vector<double> all = control_.all_gather(time);
  return {.rank0 = all.front(),
          .mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
          .min = *std::min_element(all.begin(), all.end()),
          .max = *std::max_element(all.begin(), all.end())};
}

// A seed for each check and half, so that the result of another one does not pass.
void Measurement::check(const Step& step, Half& half) {
  half.wrong = 0;
  for (int i = 0; i < options_.check && *half.wrong == 0; ++i) {
    const unsigned seed = 1 + 2 * static_cast<unsigned>(i) + (step.in_place ? 1 : 0);
    prepare(step, seed);
    control_.barrier();
    benchmark_.run(session_, step);
    const auto wrong = static_cast<double>(benchmark_.wrong(pattern(step, seed), step));
    const std::vector<double> all = control_.all_gather(wrong);
    half.wrong = std::accumulate(all.begin(), all.end(), 0.0);
    half.bad_checks = static_cast<int>(
        std::count_if(all.begin(), all.end(), [](double each) { return each > 0; }));
  }
}

}  // namespace heddle::bench
