#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// A 16-bit float with `fraction` bits after the point; normal numbers alone, cut off
// to what it holds.
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

// Element `index` of a rank's whole input.
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

// Whether `got` is `expected`, up to the one rounding that an average of floats has.
bool agrees(const Operation& operation, double got, double expected) {
  const bool rounds =
      base::reduces(operation.collective) && operation.op == heddleAvg && is_float(operation.type);
  if (!rounds) return got == expected;
  const int digits = operation.type == heddleFloat16    ? 11
                     : operation.type == heddleBfloat16 ? 8
                     : operation.type == heddleFloat32  ? 24
                                                        : 53;
  // Two units in the last place: the expected value is cut off, and a division may be a
  // multiplication by the reciprocal.
  return std::abs(got - expected) <= std::ldexp(std::abs(expected), 2 - digits);
}

// Element `index` of what all ranks get together (reduce-scatter) or each gets.
double output_value(const Operation& operation, std::size_t index) {
  if (operation.collective == base::Collective::all_gather) {
    const auto block = static_cast<int>(index / operation.count);
    return input_value(operation, block, index % operation.count);
  }
  double result = input_value(operation, 0, index);
  for (int rank = 1; rank < operation.ranks; ++rank) {
    result = combine(operation.op, result, input_value(operation, rank, index));
  }
  if (operation.op != heddleAvg) return result;
  return is_float(operation.type) ? result / operation.ranks : std::trunc(result / operation.ranks);
}

}  // namespace

Model::Model(const Operation& operation) : operation_(operation) {
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  const std::size_t size = base::size_of(operation.type);
  const auto elements = [&](int blocks) {
    return static_cast<std::size_t>(blocks) * operation.count;
  };
  const std::size_t inputs = elements(base::input_blocks(operation.collective, operation.ranks));
  const std::size_t outputs = elements(base::output_blocks(operation.collective, operation.ranks));
  output_bytes_ = outputs * size;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    std::vector<std::byte>& input = inputs_.emplace_back(inputs * size);
    for (std::size_t i = 0; i < inputs; ++i) {
      encode(operation.type, input_value(operation, rank, i), input.data() + i * size);
    }
  }
  const bool scatters = operation.collective == base::Collective::reduce_scatter;
  outputs_.resize(output_bytes_ * (scatters ? ranks : 1));
  for (std::size_t i = 0; i < outputs_.size() / size; ++i) {
    encode(operation.type, output_value(operation, i), outputs_.data() + i * size);
  }
}

std::string Model::wrong(int rank, const std::byte* output) const {
  const bool scatters = operation_.collective == base::Collective::reduce_scatter;
  const std::byte* expected =
      outputs_.data() + (scatters ? static_cast<std::size_t>(rank) * output_bytes_ : 0);
  if (std::equal(output, output + output_bytes_, expected)) return "";
  const std::size_t size = base::size_of(operation_.type);
  for (std::size_t at = 0; at < output_bytes_; at += size) {
    const double got = decode(operation_.type, output + at);
    const double want = decode(operation_.type, expected + at);
    if (!agrees(operation_, got, want)) {
      return fmt::format("rank {}: output[{}] is {}, must be {}", rank, at / size, got, want);
    }
  }
  return "";
}

}  // namespace heddle::test
