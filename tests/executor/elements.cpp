#include "elements.hpp"

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

// A float of T's size with `fraction` bits after the point; the exponent has what is left of them.
template <typename T>
struct SmallFloat {
  static constexpr int kBits = 8 * sizeof(T);
  int fraction;

  int bias() const { return (1 << (kBits - 2 - fraction)) - 1; }
  static constexpr unsigned sign() { return 1U << (kBits - 1); }

  void put(double value, std::byte* at) const {
    int exponent = 0;
    const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
    unsigned bits = std::signbit(value) ? sign() : 0U;
    if (value != 0) {
      bits |= static_cast<unsigned>(exponent - 1 + bias()) << fraction;
      bits |= static_cast<unsigned>(std::ldexp(mantissa * 2 - 1, fraction));
    }
    test::put<T>(bits, at);
  }

  double get(const std::byte* at) const {
    const auto bits = static_cast<unsigned>(test::get<T>(at));
    const unsigned exponent = (bits & (sign() - 1)) >> fraction;
    const double part = std::ldexp(bits & ((1U << fraction) - 1), -fraction);
    const double value = exponent == 0 ? std::ldexp(part, 1 - bias())
                                       : std::ldexp(1 + part, static_cast<int>(exponent) - bias());
    return (bits & sign()) != 0 ? -value : value;
  }
};

constexpr SmallFloat<std::uint16_t> kHalf{10};
constexpr SmallFloat<std::uint16_t> kBfloat{7};
constexpr SmallFloat<std::uint8_t> kE4m3{3};
constexpr SmallFloat<std::uint8_t> kE5m2{2};

}  // namespace

bool is_signed(base::DataType type) {
  return type != heddleUint8 && type != heddleUint32 && type != heddleUint64;
}

bool is_float(base::DataType type) { return significant_bits(type) != 0; }

int significant_bits(base::DataType type) {
  switch (type) {
    case heddleFloat16: return 11;
    case heddleBfloat16: return 8;
    case heddleFloat32: return 24;
    case heddleFloat64: return 53;
    case heddleFloat8e4m3: return 4;
    case heddleFloat8e5m2: return 3;
    default: return 0;
  }
}

void encode(base::DataType type, double value, std::byte* at) {
  switch (type) {
    case heddleInt8: return put<std::int8_t>(value, at);
    case heddleUint8: return put<std::uint8_t>(value, at);
    case heddleInt32: return put<std::int32_t>(value, at);
    case heddleUint32: return put<std::uint32_t>(value, at);
    case heddleInt64: return put<std::int64_t>(value, at);
    case heddleUint64: return put<std::uint64_t>(value, at);
    case heddleFloat16: return kHalf.put(value, at);
    case heddleBfloat16: return kBfloat.put(value, at);
    case heddleFloat32: return put<float>(value, at);
    case heddleFloat8e4m3: return kE4m3.put(value, at);
    case heddleFloat8e5m2: return kE5m2.put(value, at);
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
    case heddleFloat16: return kHalf.get(at);
    case heddleBfloat16: return kBfloat.get(at);
    case heddleFloat32: return get<float>(at);
    case heddleFloat8e4m3: return kE4m3.get(at);
    case heddleFloat8e5m2: return kE5m2.get(at);
    default: return get<double>(at);
  }
}

}  // namespace heddle::test
