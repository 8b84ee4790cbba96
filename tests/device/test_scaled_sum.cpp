// Sums of which some sources are multiplied by a scale before, against the plain model.
#include "layouts.hpp"

namespace heddle::device {
namespace {

// An element like those of the sources, so that products do not fit the type and are rounded.
Bytes scale_of(DataType type) { return make_source(type, 1, 77); }

void check_scaled(DataType type, int sources, std::size_t count, std::uint64_t scaled,
                  int divide_by = 1) {
  const Bytes scale = scale_of(type);
  check_layouts({type, divide_by == 1 ? heddleSum : heddleAvg, sources, count, divide_by,
                 scale.data(), scaled});
}

TEST_CASE("scaled sums give the model's bits for every type, mask and shape") {
  for (int number = 0; number < heddleNumTypes; ++number) {
    const auto type = static_cast<DataType>(number);
    for (const std::size_t count : {0, 1, 3, 7, 63, 64, 65, 129, 1000}) {
      check_scaled(type, 1, count, 1);
      for (std::uint64_t mask = 0; mask < 4; ++mask) check_scaled(type, 2, count, mask);
      for (const std::uint64_t mask : {1, 2, 4, 5, 7}) check_scaled(type, 3, count, mask);
    }
    check_scaled(type, 5, 4097, 0x12);
  }
}

TEST_CASE("scaled sums are divided after they are summed") {
  for (int number = 0; number < heddleNumTypes; ++number) {
    for (const int divide_by : {2, 3, 7}) {
      check_scaled(static_cast<DataType>(number), 2, 129, 1, divide_by);
      check_scaled(static_cast<DataType>(number), 1, 129, 1, divide_by);
    }
  }
}

TEST_CASE("only the first 64 sources can be scaled, and bits behind the last source mean nothing") {
  check_scaled(heddleFloat32, 70, 65, std::uint64_t{1} << 63 | 1);
  check_scaled(heddleInt8, 70, 65, ~std::uint64_t{0});
  check_scaled(heddleFloat64, 1, 65, 2);
  check_scaled(heddleUint32, 2, 65, 4);
}

TEST_CASE("the product of small floats is not rounded before it is added") {
  using reference::float_to_float8;
  using reference::kE4m3;
  // 13 * 15 = 195 rounds to 192; 195 - 192 is 3.
  const std::uint8_t scale = float_to_float8<kE4m3>(13);
  const std::uint8_t values[] = {float_to_float8<kE4m3>(15), float_to_float8<kE4m3>(-192)};
  const std::byte* const from[] = {reinterpret_cast<const std::byte*>(&values[0]),
                                   reinterpret_cast<const std::byte*>(&values[1])};
  for (const KernelTable& kernels : every_target()) {
    std::uint8_t result = 0;
    std::byte* const to[] = {reinterpret_cast<std::byte*>(&result)};
    reduce_with(kernels, {.sources = from,
                          .destinations = to,
                          .count = 1,
                          .type = heddleFloat8e4m3,
                          .op = heddleSum,
                          .scale = reinterpret_cast<const std::byte*>(&scale),
                          .scaled = 1});
    INFO("on " << kernels.target);
    CHECK(result == float_to_float8<kE4m3>(3));
  }
}

TEST_CASE("a scaled task without a scale, or of another operation, is refused") {
  std::byte memory[4] = {};
  const std::byte* const from[] = {memory, memory};
  std::byte* const to[] = {memory};
  ReduceTask task{.sources = from,
                  .destinations = to,
                  .count = 1,
                  .type = heddleInt32,
                  .op = heddleSum,
                  .scale = memory,
                  .scaled = 1};
  CHECK_NOTHROW(reduce(task));
  task.op = heddleMax;
  CHECK_THROWS(reduce(task));
  task.op = heddleSum;
  task.scale = nullptr;
  CHECK_THROWS(reduce(task));
}

}  // namespace
}  // namespace heddle::device
