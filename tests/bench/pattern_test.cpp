#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "catch.hpp"
#include "harness/names.hpp"
#include "harness/pattern.hpp"

using namespace heddle::bench;
using heddle::bfloat16;
using heddle::float16;
using heddle::float8_e4m3;
using heddle::float8_e5m2;
using heddle::Op;

namespace {

constexpr std::size_t kCount = 5000;  // more than a period
constexpr std::size_t kStart = 4000;

template <typename T>
constexpr bool kSmallFloat = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                             std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

// The arithmetic of the type itself, rounding after every operation.
template <typename T>
T apply(Op op, T a, T b) {
  if constexpr (kSmallFloat<T>) {
    return T(apply<float>(op, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide_a = static_cast<std::uint64_t>(a), wide_b = static_cast<std::uint64_t>(b);
    switch (op) {
      case Op::prod: return static_cast<T>(wide_a * wide_b);
      case Op::max: return std::max(a, b);
      case Op::min: return std::min(a, b);
      default: return static_cast<T>(wide_a + wide_b);
    }
  } else {
    switch (op) {
      case Op::prod: return a * b;
      case Op::max: return std::max(a, b);
      case Op::min: return std::min(a, b);
      default: return a + b;
    }
  }
}

template <typename T>
T divide(T sum, int ranks) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(
        static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(sum) /
        ranks);
  else if constexpr (std::is_same_v<T, double>)
    return sum / ranks;
  else
    return T(static_cast<float>(sum) / static_cast<float>(ranks));
}

template <typename T>
std::vector<T> contribution(const Pattern& pattern, int rank) {
  std::vector<T> values(kCount);
  pattern.fill(values.data(), rank, kStart, kCount);
  return values;
}

// The same as a mulsum adds it.
template <typename T>
std::vector<T> scaled(const Pattern& pattern, int rank) {
  std::vector<T> values = contribution<T>(pattern, rank);
  T scalar;
  const std::vector<std::byte> bytes = mulsum_scalar(heddle::data_type<T>, rank);
  REQUIRE(bytes.size() == sizeof scalar);
  std::memcpy(&scalar, bytes.data(), sizeof scalar);
  for (T& value : values) value = apply(Op::prod, value, scalar);
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("every order of reduction gives what the check expects", "", std::int8_t,
                   std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float16,
                   float, double, bfloat16, float8_e4m3, float8_e5m2) {
  for (const Op op : ops_named("all"))
    for (const int ranks : {1, 2, 3, 5, 8, 33, 150}) {
      CAPTURE(name_of(op), ranks);
      const Pattern pattern(heddle::data_type<TestType>, op, ranks, 3);
      const auto input = op == kMulSum ? scaled<TestType> : contribution<TestType>;
      std::vector<TestType> up = input(pattern, 0);
      std::vector<TestType> down = input(pattern, ranks - 1);
      for (int rank = 1; rank < ranks; ++rank) {
        const auto next = input(pattern, rank);
        const auto last = input(pattern, ranks - 1 - rank);
        for (std::size_t i = 0; i < kCount; ++i) {
          up[i] = apply(op, up[i], next[i]);
          down[i] = apply(op, down[i], last[i]);
        }
      }
      CHECK(std::memcmp(up.data(), down.data(), kCount * sizeof(TestType)) == 0);
      if (op == Op::avg)
        for (TestType& value : up) value = divide(value, ranks);
      CHECK(pattern.wrong_reduced(up.data(), kStart, kCount) == 0);
    }
}

TEMPLATE_TEST_CASE("ranks, positions and seeds differ", "", std::int8_t, std::int32_t, float16,
                   float, double, bfloat16, float8_e4m3, float8_e5m2) {
  const Pattern pattern(heddle::data_type<TestType>, std::nullopt, 4, 1);
  const auto values = contribution<TestType>(pattern, 1);
  CHECK(pattern.wrong_copy(values.data(), 1, kStart, kCount) == 0);
  const std::size_t most = kCount * 9 / 10;
  CHECK(pattern.wrong_copy(values.data(), 2, kStart, kCount) > most);
  const Pattern other(heddle::data_type<TestType>, std::nullopt, 4, 2);
  CHECK(other.wrong_copy(values.data(), 1, kStart, kCount) > most);
  for (const std::size_t shift : {std::size_t{1}, std::size_t{16}, std::size_t{4096},
                                  std::size_t{65536}, std::size_t{1} << 20, kPatternPeriod}) {
    CAPTURE(shift);
    CHECK(pattern.wrong_copy(values.data(), 1, kStart + shift, kCount) > most);
  }
}

TEST_CASE("poison that was written over is found") {
  for (const heddleDataType_t type : types_named("all")) {
    std::vector<std::byte> data(kCount * size_of(type), std::byte{kPoison});
    CHECK(wrong_poison(data.data(), kCount, type) == 0);
    data.back() = std::byte{1};
    CHECK(wrong_poison(data.data(), kCount, type) == 1);
  }
}

TEST_CASE("one wrong element is one wrong element") {
  for (const heddleDataType_t type : types_named("all")) {
    CAPTURE(name_of(type));
    const Pattern pattern(type, Op::sum, 1, 0);
    std::vector<std::byte> data(kCount * size_of(type));
    pattern.fill(data.data(), 0, 0, kCount);
    CHECK(pattern.wrong_reduced(data.data(), 0, kCount) == 0);
    for (const std::size_t at : {std::size_t{0}, kPatternPeriod, kCount - 1})
      data[at * size_of(type)] ^= std::byte{1};
    CHECK(pattern.wrong_reduced(data.data(), 0, kCount) == 3);
  }
}

TEMPLATE_TEST_CASE("sums of 8-bit floats of many ranks are not all the same", "", float8_e4m3,
                   float8_e5m2) {
  for (const int ranks : {8, 64, 1000}) {
    CAPTURE(ranks);
    const Pattern pattern(heddle::data_type<TestType>, Op::sum, ranks, 3);
    for (const int rank : {0, ranks / 2, ranks - 1}) {
      const auto values = contribution<TestType>(pattern, rank);
      const auto zeros = std::count_if(values.begin(), values.end(), [](TestType value) {
        return static_cast<float>(value) == 0;
      });
      CHECK(zeros < static_cast<std::ptrdiff_t>(kCount));
    }
    // No value is right at half of the places.
    for (int bits = 0; bits < 256; ++bits) {
      const std::vector<std::uint8_t> same(kCount, static_cast<std::uint8_t>(bits));
      CHECK(pattern.wrong_reduced(same.data(), kStart, kCount) > kCount / 2);
    }
  }
}

TEST_CASE("avg of floats may be off by two units in the last place, and no more") {
  const Pattern pattern(heddleFloat32, Op::avg, 1, 0);  // of one rank: its own values
  std::vector<std::int32_t> bits(kCount);
  pattern.fill(bits.data(), 0, 0, kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    if ((bits[i] & 0x7fffffff) != 0) bits[i] += i % 2 == 0 ? 2 : -2;
  CHECK(pattern.wrong_reduced(bits.data(), 0, kCount) == 0);
  for (std::int32_t& each : bits) each += 3;
  CHECK(pattern.wrong_reduced(bits.data(), 0, kCount) > kCount / 3);
  std::vector<float> nan(kCount, std::numeric_limits<float>::quiet_NaN());
  CHECK(pattern.wrong_reduced(nan.data(), 0, kCount) == kCount);
}
