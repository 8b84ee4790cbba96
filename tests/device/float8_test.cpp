// Reductions of the 8-bit floats: every pair of values, and what overflows, against the plain
// model.
#include <fmt/format.h>

#include "catch.hpp"
#include "device/reduce.hpp"
#include "reference.hpp"
#include "targets.hpp"

namespace heddle::device {
namespace {

using Bytes = std::vector<std::byte>;

std::uint8_t reduce_two(const KernelTable& kernels, base::DataType type, base::RedOp op,
                        std::uint8_t a, std::uint8_t b) {
  const std::byte* const from[] = {reinterpret_cast<const std::byte*>(&a),
                                   reinterpret_cast<const std::byte*>(&b)};
  std::uint8_t result = 0;
  std::byte* const to[] = {reinterpret_cast<std::byte*>(&result)};
  reduce_with(kernels, {.sources = from, .destinations = to, .count = 1, .type = type, .op = op});
  return result;
}

TEST_CASE("every pair of 8-bit floats reduces to the model's bits") {
  for (const base::DataType type : {heddleFloat8e4m3, heddleFloat8e5m2}) {
    for (int number = 0; number < heddleNumOps; ++number) {
      const auto op = static_cast<base::RedOp>(number);
      const bool orders = op == heddleMin || op == heddleMax;
      std::vector<Bytes> pairs(2);
      for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
          const auto x = static_cast<std::byte>(a);
          const auto y = static_cast<std::byte>(b);
          // Which of two zeros is the lesser, and what a NaN is to min, is left open.
          const bool open =
              a == 128 || b == 128 || reference::is_nan(type, &x) || reference::is_nan(type, &y);
          if (orders && open) continue;
          pairs[0].push_back(x);
          pairs[1].push_back(y);
        }
      }
      const std::size_t count = pairs[0].size();
      const reference::Problem problem{type, op, 2, count, op == heddleAvg ? 3 : 1};
      const Bytes expected = reference::reduce(problem, pairs);
      const std::byte* const from[] = {pairs[0].data(), pairs[1].data()};
      for (const KernelTable& kernels : every_target()) {
        Bytes result(count);
        std::byte* const to[] = {result.data()};
        reduce_with(kernels, {.sources = from,
                              .destinations = to,
                              .count = count,
                              .type = type,
                              .op = op,
                              .divide_by = problem.divide_by});
        for (std::size_t i = 0; i < count; ++i) {
          if (result[i] == expected[i]) continue;
          FAIL(fmt::format("{} {}: {:02x} with {:02x} is {:02x}, got {:02x} on {}",
                           base::name_of(type), base::name_of(op), pairs[0][i], pairs[1][i],
                           expected[i], result[i], kernels.target));
        }
      }
    }
  }
}

TEST_CASE("what is too large for an 8-bit float becomes its largest value") {
  for (const KernelTable& kernels : every_target()) {
    INFO("on " << kernels.target);
    // 448 + 448, -448 * 448.
    CHECK(reduce_two(kernels, heddleFloat8e4m3, heddleSum, 0x7e, 0x7e) == 0x7e);
    CHECK(reduce_two(kernels, heddleFloat8e4m3, heddleProd, 0xfe, 0x7e) == 0xfe);
    // 57344 + 57344, infinity + 1, -infinity * 1, and infinity - infinity.
    CHECK(reduce_two(kernels, heddleFloat8e5m2, heddleSum, 0x7b, 0x7b) == 0x7b);
    CHECK(reduce_two(kernels, heddleFloat8e5m2, heddleSum, 0x7c, 0x3c) == 0x7b);
    CHECK(reduce_two(kernels, heddleFloat8e5m2, heddleProd, 0xfc, 0x3c) == 0xfb);
    CHECK(reduce_two(kernels, heddleFloat8e5m2, heddleSum, 0x7c, 0xfc) == 0x7e);
  }
}

TEST_CASE("8-bit floats that are only moved keep their bits") {
  std::uint8_t all[256];
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  const std::byte* const from[] = {reinterpret_cast<const std::byte*>(all)};
  for (const KernelTable& kernels : every_target()) {
    for (const base::DataType type : {heddleFloat8e4m3, heddleFloat8e5m2}) {
      std::uint8_t one[256] = {}, two[256] = {};
      std::byte* const to[] = {reinterpret_cast<std::byte*>(one),
                               reinterpret_cast<std::byte*>(two)};
      reduce_with(
          kernels,
          {.sources = from, .destinations = to, .count = 256, .type = type, .op = heddleSum});
      CHECK(std::memcmp(one, all, 256) == 0);
      CHECK(std::memcmp(two, all, 256) == 0);
    }
  }
}

}  // namespace
}  // namespace heddle::device
