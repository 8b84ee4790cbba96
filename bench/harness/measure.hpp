// Times and checks one row: the operation at one size, type, op and root, out of place and in
// place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "harness/benchmark.hpp"

namespace heddle::bench {

// Seconds of one operation, over the ranks.
struct Times {
  double rank0 = 0, mean = 0, min = 0, max = 0;
  double by(Average average) const;
};

struct Half {
  Times times;
  double algbw = 0, busbw = 0;  // GB/s, from the time that -a chooses
  std::optional<double> wrong;  // elements, over all ranks, of one checked iteration
  int bad_checks = 0;           // ranks with wrong elements
};

struct Row {
  std::size_t bytes = 0;  // of the larger buffer of a rank
  std::size_t count = 0;  // elements of a part
  heddleDataType_t type = heddleFloat32;
  std::optional<Op> op;
  int root = -1;  // -1: the operation has none
  Half out_of_place;
  std::optional<Half> in_place;  // none where there is no such form
};

// What is measured, beside the size.
struct Case {
  heddleDataType_t type = heddleFloat32;
  Op op = Op::sum;
  int root = 0;  // unless the benchmark has none
};

class Measurement {
 public:
  // Allocates the buffers, for the largest size. Collective, like its other functions; all of the
  // arguments must outlive it.
  Measurement(const Benchmark& benchmark, const Options& options, Control& control,
              Session& session);

  // Runs the collective untimed at the sizes from min to max (factor 2), so that connections are
  // made and memory is touched before the first row.
  void warm_up(const Case& what);
  Row measure(std::size_t bytes, const Case& what);

 private:
  Step step(std::size_t count, const Case& what, bool in_place) const;
  std::size_t count_of(std::size_t bytes, heddleDataType_t type) const;
  std::size_t bytes_of(const Step& step, Parts parts) const;
  void prepare(const Step& step, unsigned seed);
  Half measure_half(const Step& step, std::size_t bytes);
  Times time(const Step& step);
  void check(const Step& step, Half& half);
  Pattern pattern(const Step& step, unsigned seed) const;

  const Benchmark& benchmark_;
  const Options& options_;
  Control& control_;
  Session& session_;
  std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

}  // namespace heddle::bench
