#include "device/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.hpp"
#include "device/kernels.hpp"

namespace heddle::device {
namespace {

// Bytes of the buffer on the stack in which integers are divided: a page stays in the first cache.
constexpr std::size_t kStageBytes = 4096;

bool is_float(base::DataType type) {
  return type == heddleFloat16 || type == heddleFloat32 || type == heddleFloat64 ||
         type == heddleBfloat16;
}

void copy(const ReduceTask& task) {
  const std::size_t bytes = task.count * base::size_of(task.type);
  if (task.destinations.size() == 1 && (task.streaming & 1) == 0) {
    if (task.destinations[0] != task.sources[0] && bytes != 0) {
      std::memcpy(task.destinations[0], task.sources[0], bytes);
    }
    return;
  }
  copy_kernel()({.sources = task.sources.data(),
                 .source_count = 1,
                 .destinations = task.destinations.data(),
                 .destination_count = task.destinations.size(),
                 .count = bytes,
                 .skip = 0,
                 .divide_by = 1,
                 .streaming = task.streaming});
}

void run(const ReduceTask& task, Kernel kernel) {
  kernel({.sources = task.sources.data(),
          .source_count = task.sources.size(),
          .destinations = task.destinations.data(),
          .destination_count = task.destinations.size(),
          .count = task.count,
          .skip = 0,
          .divide_by = task.divide_by,
          .streaming = task.streaming});
}

template <typename T>
void divide_elements(std::byte* data, std::size_t count, int by) {
  // A quotient of integers of up to 32 bits, computed in binary64, never rounds up to an integer:
  // it lies at least 2^-32 of itself below. Processors divide these several times faster.
  using Wide =
      std::conditional_t<sizeof(T) <= 4, double,
                         std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
  T* elements = reinterpret_cast<T*>(data);
  const Wide divisor = static_cast<Wide>(by);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i] = static_cast<T>(static_cast<Wide>(elements[i]) / divisor);
  }
}

void divide(std::byte* data, std::size_t count, base::DataType type, int by) {
  switch (type) {
    case heddleInt8: return divide_elements<std::int8_t>(data, count, by);
    case heddleUint8: return divide_elements<std::uint8_t>(data, count, by);
    case heddleInt32: return divide_elements<std::int32_t>(data, count, by);
    case heddleUint32: return divide_elements<std::uint32_t>(data, count, by);
    case heddleInt64: return divide_elements<std::int64_t>(data, count, by);
    default: return divide_elements<std::uint64_t>(data, count, by);
  }
}

// No instruction set divides integers, so that vectors gain nothing: the kernel reduces one page at
// a time into a stage, which is divided there and copied out.
void reduce_and_divide_integers(const ReduceTask& task, Kernel kernel) {
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
            .streaming = 0});
    divide(stage, count, task.type, task.divide_by);
    for (std::size_t i = 0; i < task.destinations.size(); ++i) {
      std::byte* const to = task.destinations[i] + done * size;
      copy({.sources = {&out_of, 1},
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

void reduce(const ReduceTask& task) {
  HEDDLE_ASSERT(!task.sources.empty() && !task.destinations.empty(), "{} sources, {} destinations",
                task.sources.size(), task.destinations.size());
  HEDDLE_ASSERT(static_cast<unsigned>(task.type) < heddleNumTypes, "type {}",
                static_cast<int>(task.type));
  HEDDLE_ASSERT(task.divide_by >= 1, "divide_by {}", task.divide_by);
  const bool divides = task.divide_by != 1;
  if (task.sources.size() == 1 && !divides) return copy(task);
  HEDDLE_ASSERT(static_cast<unsigned>(task.op) < heddleNumOps, "op {}", static_cast<int>(task.op));
  if (!is_float(task.type)) {
    const Kernel kernel = integer_kernel(task.type, task.op);
    if (divides) return reduce_and_divide_integers(task, kernel);
    return run(task, kernel);
  }
  run(task, float_kernel(task.type, task.op));
}

const char* reduce_target() { return kernel_target(); }

}  // namespace heddle::device
