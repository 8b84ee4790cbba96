#include "device/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "device/kernels.hpp"

namespace heddle::device {
namespace {

// Bytes of the buffer on the stack in which integers are divided: a page stays in the first cache.
constexpr std::size_t kStageBytes = 4096;

Kernel kernel_of(const KernelTable& kernels, const ReduceTask& task) {
  return task.scaled_source >= 0 ? kernels.scaled_sum[task.type]
                                 : kernels.reduce[task.type][task.op];
}

bool is_float(base::DataType type) {
  return type == heddleFloat16 || type == heddleFloat32 || type == heddleFloat64 ||
         type == heddleBfloat16 || type == heddleFloat8e4m3 || type == heddleFloat8e5m2;
}

void copy(const KernelTable& kernels, const ReduceTask& task) {
  const std::size_t bytes = task.count * base::size_of(task.type);
  if (task.destinations.size() == 1 && (task.streaming & 1) == 0) {
    if (task.destinations[0] != task.sources[0] && bytes != 0) {
      std::memcpy(task.destinations[0], task.sources[0], bytes);
    }
    return;
  }
  kernels.copy({.sources = task.sources.data(),
                .source_count = 1,
                .destinations = task.destinations.data(),
                .destination_count = task.destinations.size(),
                .count = bytes,
                .skip = 0,
                .divide_by = 1,
                .streaming = task.streaming});
}

// Bytes, by the reciprocal in 16 bits: for x and by from 2 to 255, m * by exceeds 2^16 by at most
// `by`, so that x * m / 2^16 exceeds the quotient by less than 1 / by, and never reaches the next
// integer.
template <typename T>
void divide_bytes(std::byte* data, std::size_t count, int by) {
  T* elements = reinterpret_cast<T*>(data);
  const auto reciprocal = static_cast<std::uint16_t>(by < 256 ? 65536 / by + 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const int value = elements[i];
    const auto magnitude = static_cast<std::uint16_t>(value < 0 ? -value : value);
    const auto quotient = static_cast<std::uint16_t>(std::uint32_t{magnitude} * reciprocal >> 16);
    elements[i] = static_cast<T>(value < 0 ? -quotient : quotient);
  }
}

// A quotient of integers of up to 32 bits, computed in binary64, never rounds up to an integer: it
// lies at least 2^-32 of itself below. Processors divide these several times faster.
template <typename T, typename Wide>
void divide_elements(std::byte* data, std::size_t count, int by) {
  T* elements = reinterpret_cast<T*>(data);
  const auto divisor = static_cast<Wide>(by);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i] = static_cast<T>(static_cast<Wide>(elements[i]) / divisor);
  }
}

void divide(std::byte* data, std::size_t count, base::DataType type, int by) {
  switch (type) {
    case heddleInt8: return divide_bytes<std::int8_t>(data, count, by);
    case heddleUint8: return divide_bytes<std::uint8_t>(data, count, by);
    case heddleInt32: return divide_elements<std::int32_t, double>(data, count, by);
    case heddleUint32: return divide_elements<std::uint32_t, double>(data, count, by);
    case heddleInt64: return divide_elements<std::int64_t, std::int64_t>(data, count, by);
    default: return divide_elements<std::uint64_t, std::uint64_t>(data, count, by);
  }
}

// No instruction set divides integers, so that vectors gain nothing: the kernel reduces one page at
// a time into a stage, which is divided there and copied out.
void reduce_and_divide_integers(const KernelTable& kernels, const ReduceTask& task) {
  const Kernel kernel = kernel_of(kernels, task);
  alignas(64) std::byte stage[kStageBytes];
  std::byte* const into = stage;
  const std::byte* const out_of = stage;
  const std::size_t size = base::size_of(task.type);
  const std::size_t step = kStageBytes / size;
  for (std::size_t done = 0; done < task.count; done += step) {
    const std::size_t count = std::min(step, task.count - done);
    kernel({.sources = task.sources.data(),
            .source_count = task.sources.size(),
            .destinations = &into,
            .destination_count = 1,
            .count = count,
            .skip = done,
            .divide_by = 1,
            .streaming = 0,
            .scale = task.scale,
            .scaled_source = task.scaled_source});
    divide(stage, count, task.type, task.divide_by);
    for (std::size_t i = 0; i < task.destinations.size(); ++i) {
      std::byte* const to = task.destinations[i] + done * size;
      copy(kernels, {.sources = {&out_of, 1},
                     .destinations = {&to, 1},
                     .count = count,
                     .type = task.type,
                     .op = task.op,
                     .divide_by = 1,
                     .streaming = i < 32 ? task.streaming >> i & 1 : 0});
    }
  }
}

}  // namespace

KernelTable resolve_kernels() {
  KernelTable table{};
  fill_integer_kernels(table);
  fill_float_kernels(table);
  return table;
}

void reduce_with(const KernelTable& kernels, const ReduceTask& task) {
  HEDDLE_ASSERT(!task.sources.empty() && !task.destinations.empty(), "{} sources, {} destinations",
                task.sources.size(), task.destinations.size());
  HEDDLE_ASSERT(static_cast<unsigned>(task.type) < heddleNumTypes, "type {}",
                static_cast<int>(task.type));
  HEDDLE_ASSERT(task.divide_by >= 1, "divide_by {}", task.divide_by);
  HEDDLE_ASSERT(task.scaled_source < static_cast<int>(task.sources.size()),
                "source {} scaled of {}", task.scaled_source, task.sources.size());
  HEDDLE_ASSERT(task.scaled_source < 0 || task.scale != nullptr, "source {} scaled by nothing",
                task.scaled_source);
  if (task.divide_by == 1 && task.sources.size() == 1 && task.scaled_source < 0) {
    return copy(kernels, task);
  }
  HEDDLE_ASSERT(static_cast<unsigned>(task.op) < heddleNumOps, "op {}", static_cast<int>(task.op));
  HEDDLE_ASSERT(task.scaled_source < 0 || task.op == heddleSum || task.op == heddleAvg,
                "op {} scaled", static_cast<int>(task.op));
  if (task.divide_by != 1 && !is_float(task.type)) return reduce_and_divide_integers(kernels, task);
  kernel_of(kernels, task)({.sources = task.sources.data(),
                            .source_count = task.sources.size(),
                            .destinations = task.destinations.data(),
                            .destination_count = task.destinations.size(),
                            .count = task.count,
                            .skip = 0,
                            .divide_by = task.divide_by,
                            .streaming = task.streaming,
                            .scale = task.scale,
                            .scaled_source = task.scaled_source});
}

namespace {
const KernelTable& best_kernels() {
  static const KernelTable table = resolve_kernels();
  return table;
}
}  // namespace

void reduce(const ReduceTask& task) { reduce_with(best_kernels(), task); }

const char* reduce_target() { return best_kernels().target; }

}  // namespace heddle::device
