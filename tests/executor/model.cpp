#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heddle::test {

namespace {

template <typename T>
void put(double value, std::byte* at) {
  const T typed = static_cast<T>(value);
  std::memcpy(at, &typed, sizeof typed);
}

template <typename T>
double get(const std::byte* at) {
  T typed;
  std::memcpy(&typed, at, sizeof typed);
  return static_cast<double>(typed);
}

// A 16-bit float with `fraction` bits after the point; normal numbers that it holds exactly.
void put16(double value, int fraction, std::byte* at) {
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  unsigned bits = std::signbit(value) ? 0x8000U : 0U;
  if (value != 0) {
    const int bias = (1 << (14 - fraction)) - 1;
    bits |= static_cast<unsigned>(exponent - 1 + bias) << fraction;
    bits |= static_cast<unsigned>(std::ldexp(mantissa * 2 - 1, fraction));
  }
  put<std::uint16_t>(bits, at);
}

double get16(const std::byte* at, int fraction) {
  const auto bits = static_cast<unsigned>(get<std::uint16_t>(at));
  const int bias = (1 << (14 - fraction)) - 1;
  const unsigned exponent = (bits & 0x7FFFU) >> fraction;
  const double part = std::ldexp(bits & ((1U << fraction) - 1), -fraction);
  const double value = exponent == 0 ? std::ldexp(part, 1 - bias)
                                     : std::ldexp(1 + part, static_cast<int>(exponent) - bias);
  return (bits & 0x8000U) != 0 ? -value : value;
}

bool is_signed(base::DataType type) {
  return type != heddleUint8 && type != heddleUint32 && type != heddleUint64;
}

bool is_float(base::DataType type) {
  return type == heddleFloat16 || type == heddleBfloat16 || type == heddleFloat32 ||
         type == heddleFloat64;
}

// Such that eight of them add up to a number that the type holds exactly.
std::uint64_t value_range(base::DataType type) {
  switch (type) {
    case heddleInt8: return 15;
    case heddleUint8:
    case heddleBfloat16: return 30;
    case heddleFloat16: return 200;
    default: return 100'000;
  }
}

double combine(base::RedOp op, double a, double b) {
  switch (op) {
    case heddleProd: return a * b;
    case heddleMin: return std::min(a, b);
    case heddleMax: return std::max(a, b);
    default: return a + b;
  }
}

}  // namespace

double input_value(const Operation& operation, int rank, std::size_t index) {
  if (base::reduces(operation.collective) && operation.op == heddleProd) {
    // Powers of two of which at most two of eight ranks have one at a place; int8 holds four.
    const double sign = is_signed(operation.type) && (index / 7 + rank) % 3 == 0 ? -1 : 1;
    return sign * ((index + static_cast<std::size_t>(rank)) % 4 == 0 ? 2 : 1);
  }
  // Weyl steps by two odd constants: neighbours and ranks differ.
  const std::uint64_t mixed = (index + 1) * 0x9E3779B97F4A7C15U + (rank + 1) * 0xBF58476D1CE4E5B9U;
  const std::uint64_t range = value_range(operation.type);
  const auto value = static_cast<double>((mixed >> 32) % range);
  const bool order = operation.op == heddleMin || operation.op == heddleMax;
  return order && is_signed(operation.type) ? value - static_cast<double>(range / 2) : value;
}

double output_value(const Operation& operation, int rank, std::size_t index) {
  if (operation.collective == base::Collective::all_gather) {
    const auto block = static_cast<int>(index / operation.count);
    return input_value(operation, block, index % operation.count);
  }
  if (operation.collective == base::Collective::reduce_scatter) {
    index += static_cast<std::size_t>(rank) * operation.count;
  }
  double result = input_value(operation, 0, index);
  for (int other = 1; other < operation.ranks; ++other) {
    result = combine(operation.op, result, input_value(operation, other, index));
  }
  if (operation.op != heddleAvg) return result;
  return is_float(operation.type) ? result / operation.ranks : std::trunc(result / operation.ranks);
}

void encode(base::DataType type, double value, std::byte* at) {
  switch (type) {
    case heddleInt8: return put<std::int8_t>(value, at);
    case heddleUint8: return put<std::uint8_t>(value, at);
    case heddleInt32: return put<std::int32_t>(value, at);
    case heddleUint32: return put<std::uint32_t>(value, at);
    case heddleInt64: return put<std::int64_t>(value, at);
    case heddleUint64: return put<std::uint64_t>(value, at);
    case heddleFloat16: return put16(value, 10, at);
    case heddleBfloat16: return put16(value, 7, at);
    case heddleFloat32: return put<float>(value, at);
    default: return put<double>(value, at);
  }
}

double decode(base::DataType type, const std::byte* at) {
  switch (type) {
    case heddleInt8: return get<std::int8_t>(at);
    case heddleUint8: return get<std::uint8_t>(at);
    case heddleInt32: return get<std::int32_t>(at);
    case heddleUint32: return get<std::uint32_t>(at);
    case heddleInt64: return get<std::int64_t>(at);
    case heddleUint64: return get<std::uint64_t>(at);
    case heddleFloat16: return get16(at, 10);
    case heddleBfloat16: return get16(at, 7);
    case heddleFloat32: return get<float>(at);
    default: return get<double>(at);
  }
}

bool agrees(const Operation& operation, double got, double expected) {
  const bool rounds =
      base::reduces(operation.collective) && operation.op == heddleAvg && is_float(operation.type);
  if (!rounds) return got == expected;
  const int digits = operation.type == heddleFloat16    ? 11
                     : operation.type == heddleBfloat16 ? 8
                     : operation.type == heddleFloat32  ? 24
                                                        : 53;
  // One unit in the last place: a division may be a multiplication by the reciprocal.
  return std::abs(got - expected) <= std::ldexp(std::abs(expected), 1 - digits);
}

}  // namespace heddle::test
