// A plain model of reduce(), element by element, that shares no code with it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/types.hpp"

namespace heddle::device::reference {

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline float half_to_float(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// nearbyint rounds to nearest even, the mode that every thread starts with.
inline std::uint16_t float_to_half(float value) {
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < std::ldexp(1.0, -14)) {
    return static_cast<std::uint16_t>(
        sign | static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  const int exponent = std::ilogb(magnitude);
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(
      sign | static_cast<unsigned>(((exponent + 15) << 10) + fraction - 1024));
}

inline float bfloat_to_float(std::uint16_t value) {
  return load<float>(std::vector<std::uint16_t>{0, value}.data());
}

inline std::uint16_t float_to_bfloat(float value) {
  if (std::isnan(value)) return 0x7fc0;
  std::uint16_t halves[2];
  float rounded = value;
  if (std::isfinite(value) && value != 0) {
    const int exponent = std::max(std::ilogb(value), -126);
    const double scaled = std::nearbyint(std::ldexp(static_cast<double>(value), 7 - exponent));
    rounded = static_cast<float>(std::ldexp(scaled, exponent - 7));
  }
  std::memcpy(halves, &rounded, sizeof halves);
  return halves[1];
}

// A format of 8 bits: fraction bits, bias, the largest finite magnitude, and whether the next one
// is infinity. value[m] is what magnitude m means.
struct Format8 {
  int fraction, bias, largest;
  bool infinity;
  std::array<double, 128> value{};
  Format8(int fraction_bits, int exponent_bias, int largest_magnitude, bool has_infinity)
      : fraction(fraction_bits),
        bias(exponent_bias),
        largest(largest_magnitude),
        infinity(has_infinity) {
    for (int m = 0; m < 128; ++m) {
      const int exponent = m >> fraction;
      const double part = m % (1 << fraction) / std::ldexp(1.0, fraction);
      value[static_cast<std::size_t>(m)] =
          m <= largest
              ? exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias)
          : infinity && m == largest + 1 ? INFINITY
                                         : NAN;
    }
  }
};
inline const Format8 kE4m3(3, 7, 0x7e, false);
inline const Format8 kE5m2(2, 15, 0x7b, true);

template <const Format8& kFormat>
float float8_to_float(std::uint8_t bits) {
  const auto magnitude = static_cast<float>(kFormat.value[bits & 127U]);
  return bits >= 128 ? -magnitude : magnitude;
}

// The nearest of all finite values, of two the one whose last bit is 0. The NaN is the quiet one.
template <const Format8& kFormat>
std::uint8_t float_to_float8(float value) {
  if (std::isnan(value)) return kFormat.infinity ? 0x7e : 0x7f;
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto* first = kFormat.value.data();
  const auto* last = first + kFormat.largest;
  const auto* above = std::min(std::lower_bound(first, last, magnitude), last);
  auto nearest = static_cast<int>(above - first);
  if (nearest != 0 && magnitude < *above) {
    const double up = *above - magnitude;
    const double down = magnitude - *(above - 1);
    if (down < up || (down == up && nearest % 2 == 1)) --nearest;
  }
  return static_cast<std::uint8_t>((std::signbit(value) ? 128 : 0) + nearest);
}

template <typename T>
T combine(T a, T b, base::RedOp op) {
  if (op == heddleMin) return b < a ? b : a;
  if (op == heddleMax) return a < b ? b : a;
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == heddleProd ? x * y : x + y);
  } else {
    return op == heddleProd ? a * b : a + b;
  }
}

template <typename T>
T quotient(T a, int by) {
  if (by == 1) return a;
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(a) / by);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) / static_cast<unsigned>(by));
  } else {
    return a / static_cast<T>(by);
  }
}

struct Problem {
  base::DataType type;
  base::RedOp op;
  int sources;
  std::size_t count;
  int divide_by;
  const std::byte* scale = nullptr;
  int scaled_source = -1;
};

// T: what is stored; decode and encode: to and from what is computed with.
template <typename T, typename Decode, typename Encode>
std::vector<std::byte> reduce_as(const Problem& problem,
                                 const std::vector<std::vector<std::byte>>& sources, Decode decode,
                                 Encode encode) {
  std::vector<std::byte> result(problem.count * sizeof(T));
  for (std::size_t i = 0; i < problem.count; ++i) {
    const std::size_t at = i * sizeof(T);
    const auto operand = [&](std::size_t s) {
      const auto value = decode(load<T>(sources[s].data() + at));
      if (static_cast<int>(s) != problem.scaled_source) return value;
      return combine(value, decode(load<T>(problem.scale)), heddleProd);
    };
    auto value = operand(0);
    for (std::size_t s = 1; s < sources.size(); ++s) value = combine(value, operand(s), problem.op);
    const T stored = encode(quotient(value, problem.divide_by));
    std::memcpy(result.data() + at, &stored, sizeof stored);
  }
  return result;
}

inline std::vector<std::byte> reduce(const Problem& problem,
                                     const std::vector<std::vector<std::byte>>& sources) {
  const auto same = [](auto value) { return value; };
  if (problem.sources == 1 && problem.divide_by == 1 && problem.scaled_source < 0)
    return sources[0];
  switch (problem.type) {
    case heddleInt8: return reduce_as<std::int8_t>(problem, sources, same, same);
    case heddleUint8: return reduce_as<std::uint8_t>(problem, sources, same, same);
    case heddleInt32: return reduce_as<std::int32_t>(problem, sources, same, same);
    case heddleUint32: return reduce_as<std::uint32_t>(problem, sources, same, same);
    case heddleInt64: return reduce_as<std::int64_t>(problem, sources, same, same);
    case heddleUint64: return reduce_as<std::uint64_t>(problem, sources, same, same);
    case heddleFloat32: return reduce_as<float>(problem, sources, same, same);
    case heddleFloat64: return reduce_as<double>(problem, sources, same, same);
    case heddleFloat16:
      return reduce_as<std::uint16_t>(problem, sources, half_to_float, float_to_half);
    case heddleBfloat16:
      return reduce_as<std::uint16_t>(problem, sources, bfloat_to_float, float_to_bfloat);
    case heddleFloat8e4m3:
      return reduce_as<std::uint8_t>(problem, sources, float8_to_float<kE4m3>,
                                     float_to_float8<kE4m3>);
    default:
      return reduce_as<std::uint8_t>(problem, sources, float8_to_float<kE5m2>,
                                     float_to_float8<kE5m2>);
  }
}

inline bool is_nan(base::DataType type, const std::byte* element) {
  switch (type) {
    case heddleFloat16: return std::isnan(half_to_float(load<std::uint16_t>(element)));
    case heddleBfloat16: return std::isnan(bfloat_to_float(load<std::uint16_t>(element)));
    case heddleFloat8e4m3: return std::isnan(float8_to_float<kE4m3>(load<std::uint8_t>(element)));
    case heddleFloat8e5m2: return std::isnan(float8_to_float<kE5m2>(load<std::uint8_t>(element)));
    case heddleFloat32: return std::isnan(load<float>(element));
    case heddleFloat64: return std::isnan(load<double>(element));
    default: return false;
  }
}

// The first element at which the two differ, or `count`. Two NaNs are equal.
inline std::size_t first_difference(base::DataType type, const std::byte* a, const std::byte* b,
                                    std::size_t count) {
  const std::size_t size = base::size_of(type);
  if (count == 0 || std::memcmp(a, b, count * size) == 0) return count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* x = a + i * size;
    const std::byte* y = b + i * size;
    if (std::memcmp(x, y, size) != 0 && !(is_nan(type, x) && is_nan(type, y))) return i;
  }
  return count;
}

}  // namespace heddle::device::reference
