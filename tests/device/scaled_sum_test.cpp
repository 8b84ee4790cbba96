// Sums of which one source is multiplied by a scale before, against the plain model.
#include "layouts.hpp"

namespace heddle::device {
namespace {

// An element like those of the sources, so that products do not fit the type and are rounded.
Bytes scale_of(DataType type) { return make_source(type, 1, 77); }

void check_scaled(DataType type, int sources, std::size_t count, int scaled_source,
                  int divide_by = 1) {
  const Bytes scale = scale_of(type);
  check_layouts({type, divide_by == 1 ? heddleSum : heddleAvg, sources, count, divide_by,
                 scale.data(), scaled_source});
}

TEST_CASE("scaled sums give the model's bits for every type, source and shape") {
  for (int number = 0; number < heddleNumTypes; ++number) {
    const auto type = static_cast<DataType>(number);
    for (const std::size_t count : {0, 1, 3, 7, 63, 64, 65, 129, 1000}) {
      for (const int sources : {1, 2, 3})
        for (int scaled = -1; scaled < sources; ++scaled)
          check_scaled(type, sources, count, scaled);
    }
    check_scaled(type, 5, 4097, 4);
  }
}

TEST_CASE("scaled sums are divided after they are summed") {
  for (int number = 0; number < heddleNumTypes; ++number) {
    for (const int divide_by : {2, 3, 7}) {
      check_scaled(static_cast<DataType>(number), 2, 129, 0, divide_by);
      check_scaled(static_cast<DataType>(number), 1, 129, 0, divide_by);
    }
  }
}

TEST_CASE("the last of many sources can be scaled") {
  check_scaled(heddleFloat32, 70, 65, 69);
  check_scaled(heddleInt8, 600, 65, 599);
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
                          .scaled_source = 0});
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
                  .scaled_source = 0};
  CHECK_NOTHROW(reduce(task));
  task.op = heddleMax;
  CHECK_THROWS(reduce(task));
  task.op = heddleSum;
  task.scaled_source = 2;
  CHECK_THROWS(reduce(task));
  task.scaled_source = 1;
  task.scale = nullptr;
  CHECK_THROWS(reduce(task));
}

}  // namespace
}  // namespace heddle::device
