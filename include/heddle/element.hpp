// The element types of the C++ API: two 16-bit floats, two 8-bit ones, and which C++ type is which
// heddleDataType_t.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "heddle/heddle.h"

namespace heddle {

// The upper half of a binary32; rounds to nearest even, a NaN stays a NaN.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit constexpr bfloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>(
        value != value ? (word >> 16) | 0x40u : (word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// IEEE binary16; rounds to nearest even, too large becomes infinity, a NaN stays a NaN.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  explicit constexpr float16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000u) {
      half = 0x7e00u;
    } else if (magnitude >= 0x477ff000u) {  // 65520 and above round past the largest finite
      half = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {  // normal: move the exponent's bias from 127 to 15
      half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    } else {  // subnormal: adding 0.5 makes the float unit round at 2^-24
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  explicit constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    std::uint32_t word = 0;
    if (magnitude >= 0x7c00u) {
      word = 0x7f800000u | (magnitude & 0x3ffu) << 13;
    } else if (magnitude >= 0x400u) {
      word = (magnitude << 13) + 0x38000000u;
    } else {
      word = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    }
    return std::bit_cast<float>(sign | word);
  }
};

// An 8-bit float of the OCP specification with 4 or 5 bits of exponent; rounds to nearest even. Too
// large, infinity included, becomes the largest finite value; a NaN stays a NaN.
template <int kExponent>
struct float8 {
  static_assert(kExponent == 4 || kExponent == 5);
  std::uint8_t bits = 0;
  float8() = default;
  explicit constexpr float8(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t largest = kExponent == 4 ? 0x43e00000u : 0x47600000u;  // 448, 57344
    const std::uint32_t magnitude = std::min(word & 0x7fffffffu, largest);
    std::uint32_t small = 0;
    if (value != value) {
      small = kExponent == 4 ? 0x7fu : 0x7eu;
    } else if (magnitude >= (kRebias + 1) << 23) {  // normal: move the exponent's bias
      const std::uint32_t half = (1u << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1u);
      small = (magnitude - (kRebias << 23) + half) >> kShift;
    } else {  // subnormal: adding a power of two makes the float unit round at the last place
      const std::uint32_t power = (kRebias + 1 + kShift) << 23;
      const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(power);
      small = std::bit_cast<std::uint32_t>(sum) - power;
    }
    bits = static_cast<std::uint8_t>((word >> 24 & 0x80u) | small);
  }
  explicit constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    std::uint32_t word = 0;
    if (magnitude >= (kExponent == 4 ? 0x7fu : 0x7cu)) {
      word = 0x7f800000u | magnitude << kShift;
    } else if (magnitude >> (7 - kExponent) != 0) {
      word = (magnitude << kShift) + (kRebias << 23);
    } else {
      const auto unit = std::bit_cast<float>((kRebias + 1 - (7 - kExponent)) << 23);
      word = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * unit);
    }
    return std::bit_cast<float>(sign | word);
  }

 private:
  // Between the exponent fields of this type and float, and from the last place to float's.
  static constexpr std::uint32_t kRebias = 128 - (1u << (kExponent - 1));
  static constexpr int kShift = 23 - (7 - kExponent);
};
using float8_e4m3 = float8<4>;  // no infinities, largest 448
using float8_e5m2 = float8<5>;  // the upper half of a float16, largest 57344

// heddleDataType_t of a C++ type, or heddleNumTypes. Integers go by size and sign, so that long and
// long long both work; bool and character types are not elements.
template <typename T>
inline constexpr heddleDataType_t data_type = [] {
  if constexpr (std::same_as<T, float>)
    return heddleFloat32;
  else if constexpr (std::same_as<T, double>)
    return heddleFloat64;
  else if constexpr (std::same_as<T, float16>)
    return heddleFloat16;
  else if constexpr (std::same_as<T, bfloat16>)
    return heddleBfloat16;
  else if constexpr (std::same_as<T, float8_e4m3>)
    return heddleFloat8e4m3;
  else if constexpr (std::same_as<T, float8_e5m2>)
    return heddleFloat8e5m2;
  else if constexpr (!std::integral<T> || std::same_as<T, bool> || std::same_as<T, char> ||
                     std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                     std::same_as<T, char16_t> || std::same_as<T, char32_t>)
    return heddleNumTypes;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? heddleInt8 : heddleUint8;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? heddleInt32 : heddleUint32;
  else if constexpr (sizeof(T) == 8)
    return std::is_signed_v<T> ? heddleInt64 : heddleUint64;
  else
    return heddleNumTypes;
}();

template <typename T>
concept Element = data_type<T>
!= heddleNumTypes;

// Something to read elements from, and something to write them to.
template <typename R>
concept Input = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::ranges::range_value_t<R>>;
template <typename R>
concept Output =
    Input<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <typename S, typename R>
concept Pair = Input<S> && Output<R> &&
    std::same_as<std::ranges::range_value_t<S>, std::ranges::range_value_t<R>>;

}  // namespace heddle
