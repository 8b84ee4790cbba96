// float16 and bfloat16: every bit pattern, and roundings at random, against the plain model.
#include <fmt/format.h>

#include <random>

#include "catch.hpp"
#include "device/reduce.hpp"
#include "reference.hpp"
#include "targets.hpp"

namespace heddle::device {
namespace {

using Bytes = std::vector<std::byte>;

void check(const reference::Problem& problem, const std::vector<Bytes>& sources) {
  const Bytes expected = reference::reduce(problem, sources);
  std::vector<const std::byte*> from;
  for (const Bytes& source : sources) from.push_back(source.data());
  for (const KernelTable& kernels : every_target()) {
    Bytes result(expected.size());
    std::byte* const to[] = {result.data()};
    reduce_with(kernels, {.sources = from,
                          .destinations = to,
                          .count = problem.count,
                          .type = problem.type,
                          .op = problem.op,
                          .divide_by = problem.divide_by});
    const std::size_t at =
        reference::first_difference(problem.type, result.data(), expected.data(), problem.count);
    INFO("element " << at << " of " << problem.count << " on " << kernels.target << " type "
                    << base::name_of(problem.type) << " op " << base::name_of(problem.op));
    if (at != problem.count) {
      for (const Bytes& source : sources) {
        UNSCOPED_INFO(
            fmt::format("source {:04x}", reference::load<std::uint16_t>(source.data() + 2 * at)));
      }
      UNSCOPED_INFO(fmt::format("result {:04x}, expected {:04x}",
                                reference::load<std::uint16_t>(result.data() + 2 * at),
                                reference::load<std::uint16_t>(expected.data() + 2 * at)));
    }
    REQUIRE(at == problem.count);
  }
}

constexpr std::size_t kPatterns = 65536;

template <typename Value>
Bytes fill(std::size_t count, Value value) {
  Bytes bytes(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t v = static_cast<std::uint16_t>(value(i));
    std::memcpy(bytes.data() + 2 * i, &v, 2);
  }
  return bytes;
}

TEST_CASE("every float16 and bfloat16 survives the way to float32 and back") {
  const Bytes all = fill(kPatterns, [](std::size_t i) { return i; });
  // The one value that changes nothing when added.
  const Bytes minus_zero = fill(kPatterns, [](std::size_t) { return 0x8000; });
  check({heddleFloat16, heddleSum, 2, kPatterns, 1}, {all, minus_zero});
  check({heddleBfloat16, heddleSum, 2, kPatterns, 1}, {all, minus_zero});
}

TEST_CASE("float16 and bfloat16 results are rounded once, to nearest even") {
  constexpr std::size_t count = 1 << 17;
  std::mt19937 random(20240607);
  std::vector<Bytes> sources;
  for (int s = 0; s < 3; ++s) {
    sources.push_back(fill(count, [&](std::size_t) { return random(); }));
  }
  const std::vector<Bytes> two(sources.begin(), sources.begin() + 2);
  for (const base::DataType type : {heddleFloat16, heddleBfloat16}) {
    check({type, heddleSum, 3, count, 1}, sources);
    check({type, heddleProd, 2, count, 1}, two);
    check({type, heddleAvg, 2, count, 3}, two);
    check({type, heddleAvg, 1, count, 1024}, {sources[0]});
  }
}

TEST_CASE("float16 and bfloat16 overflow to infinity and underflow through subnormals") {
  // 65504 + 16 is a tie that goes to infinity, 65504 + 15 rounds back; 2^-24 is the least float16.
  const std::uint16_t half[][3] = {{0x7bff, 0x4c00, 0x7c00}, {0x7bff, 0x4b80, 0x7bff},
                                   {0xfbff, 0xcc00, 0xfc00}, {0x0001, 0x0001, 0x0002},
                                   {0x03ff, 0x0001, 0x0400}, {0x7c00, 0xfc00, 0x7e00}};
  // The largest bfloat16 + half of its last place ties to infinity, a quarter rounds back.
  const std::uint16_t bfloat[][3] = {{0x7f7f, 0x7b00, 0x7f80}, {0x7f7f, 0x7a80, 0x7f7f},
                                     {0xff7f, 0xfb00, 0xff80}, {0x0001, 0x0001, 0x0002},
                                     {0x007f, 0x0001, 0x0080}, {0x7f80, 0xff80, 0x7fc0}};
  const auto run = [](const KernelTable& kernels, base::DataType type,
                      const std::uint16_t(&row)[3]) {
    const std::byte* const from[] = {reinterpret_cast<const std::byte*>(&row[0]),
                                     reinterpret_cast<const std::byte*>(&row[1])};
    std::uint16_t result = 0;
    std::byte* const to[] = {reinterpret_cast<std::byte*>(&result)};
    reduce_with(kernels,
                {.sources = from, .destinations = to, .count = 1, .type = type, .op = heddleSum});
    const auto* got = reinterpret_cast<const std::byte*>(&result);
    const auto* wanted = reinterpret_cast<const std::byte*>(&row[2]);
    INFO(fmt::format("{} {:04x} + {:04x} = {:04x} on {}", base::name_of(type), row[0], row[1],
                     result, kernels.target));
    CHECK(reference::first_difference(type, got, wanted, 1) == 1);
  };
  for (const KernelTable& kernels : every_target()) {
    for (const auto& row : half) run(kernels, heddleFloat16, row);
    for (const auto& row : bfloat) run(kernels, heddleBfloat16, row);
  }
}

TEST_CASE("a NaN operand of min and max is kept or ignored, never replaced") {
  const std::uint32_t nan = 0x7fc00000u;
  const float one = 1.0f;
  for (const KernelTable& kernels : every_target()) {
    for (const base::RedOp op : {heddleMin, heddleMax}) {
      for (const bool first : {false, true}) {
        const auto* a = reinterpret_cast<const std::byte*>(&one);
        const auto* b = reinterpret_cast<const std::byte*>(&nan);
        const std::byte* const from[] = {first ? b : a, first ? a : b};
        float result = 0;
        std::byte* const to[] = {reinterpret_cast<std::byte*>(&result)};
        reduce_with(
            kernels,
            {.sources = from, .destinations = to, .count = 1, .type = heddleFloat32, .op = op});
        CHECK((std::isnan(result) || result == 1.0f));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::device
