// What one reduce() costs: rates in bytes of ONE buffer a second, as a collective counts them.
// Names read type/op/sources:destinations/bytes; `streaming` writes around the caches, `scaled`
// multiplies the first source.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/host_memory.hpp"
#include "device/reduce.hpp"

namespace heddle::device {
namespace {

struct Case {
  base::DataType type;
  base::RedOp op;
  int sources;
  int destinations;
  int divide_by = 1;
  unsigned streaming = 0;
  int scaled_source = -1;
};

// Distances between buffers are no multiple of 4096, as buffers of a program would have it.
constexpr std::size_t kStagger = 4096 + 256;

void reduce_case(benchmark::State& state, const Case& what, std::size_t bytes) {
  const auto buffers = static_cast<std::size_t>(what.sources + what.destinations);
  const HostMemory memory = allocate_host(buffers * (bytes + kStagger));
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (std::size_t i = 0; i < buffers; ++i) {
    std::byte* const at = memory.data() + i * ((bytes + kStagger) / 64 * 64);
    if (i < static_cast<std::size_t>(what.sources)) {
      from.push_back(at);
    } else {
      to.push_back(at);
    }
  }
  const std::byte scale[8] = {};
  for (auto _ : state) {
    reduce({.sources = from,
            .destinations = to,
            .count = bytes / base::size_of(what.type),
            .type = what.type,
            .op = what.op,
            .divide_by = what.divide_by,
            .streaming = what.streaming,
            .scale = scale,
            .scaled_source = what.scaled_source});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

#if defined(__x86_64__)
__attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#endif
void plain_sum(float* c, const float* a, const float* b, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

// The loop that anybody would write, for comparison.
void plain_case(benchmark::State& state, std::size_t bytes) {
  const HostMemory memory = allocate_host(3 * (bytes + kStagger));
  const auto buffer = [&](std::size_t i) {
    return reinterpret_cast<float*>(memory.data() + i * ((bytes + kStagger) / 64 * 64));
  };
  for (auto _ : state) {
    plain_sum(buffer(2), buffer(0), buffer(1), bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void add(const Case& what, std::size_t bytes) {
  const std::string name = std::string(base::name_of(what.type)) + "/" +
                           std::string(base::name_of(what.op)) + "/" +
                           std::to_string(what.sources) + ":" + std::to_string(what.destinations) +
                           "/" + std::to_string(bytes) + (what.streaming != 0 ? "/streaming" : "") +
                           (what.scaled_source >= 0 ? "/scaled" : "");
  benchmark::RegisterBenchmark(
      name.c_str(), [what, bytes](benchmark::State& state) { reduce_case(state, what, bytes); });
}

void add_all() {
  constexpr std::size_t kib = 1024, mib = kib * kib;
  for (const std::size_t bytes : {std::size_t{8}, kib, 64 * kib, mib, 16 * mib, 256 * mib}) {
    const std::string name = "plain loop/" + std::to_string(bytes);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [bytes](benchmark::State& state) { plain_case(state, bytes); });
    add({heddleFloat32, heddleSum, 2, 1}, bytes);
  }
  for (const std::size_t bytes : {mib, 16 * mib, 256 * mib}) {
    add({heddleFloat32, heddleSum, 2, 1, 1, 1u}, bytes);
    add({heddleFloat32, heddleSum, 1, 1}, bytes);
    add({heddleFloat32, heddleSum, 1, 1, 1, 1u}, bytes);
  }
  for (const int sources : {1, 2, 3, 4, 8}) {
    for (const int destinations : {1, 2, 3}) {
      add({heddleFloat32, heddleSum, sources, destinations}, 64 * kib);
    }
  }
  for (int type = 0; type < heddleNumTypes; ++type) {
    const auto data_type = static_cast<base::DataType>(type);
    for (const base::RedOp op : {heddleSum, heddleProd, heddleMax}) {
      add({data_type, op, 2, 1}, 64 * kib);
    }
    add({data_type, heddleAvg, 2, 1, 3}, 64 * kib);
    add({.type = data_type, .op = heddleSum, .sources = 2, .destinations = 1, .scaled_source = 0},
        64 * kib);
    add({data_type, heddleSum, 2, 1}, 8);
    add({data_type, heddleSum, 2, 1}, 16 * mib);
  }
}

}  // namespace
}  // namespace heddle::device

int main(int argc, char** argv) {
  heddle::device::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("instruction set", heddle::device::reduce_target());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
