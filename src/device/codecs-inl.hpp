// How elements lie in memory and as what they are computed with. Compiled once for each instruction
// set, hence no #pragma once. NaNs are found by IsNaN: Highway 1.0's Ne says no of a NaN on x86.
#if defined(HEDDLE_DEVICE_CODECS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEDDLE_DEVICE_CODECS_INL_HPP_
#undef HEDDLE_DEVICE_CODECS_INL_HPP_
#else
#define HEDDLE_DEVICE_CODECS_INL_HPP_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kParts > 1 says that a codec also works on full vectors of stored elements, kParts vectors of
// lanes at a time: part k holds the elements k, k + kParts, and so on, which are the k-th element
// in every lane's 32 bits (decode_part<k>, encode_parts). That saves moving elements across the
// vector.
template <typename T>
struct Plain {
  static constexpr int kParts = 1;
  using Stored = T;
  using Lane = T;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V decode(D, V v) {
    return v;
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V encode(D, V v) {
    return v;
  }
};

// 32 bits that are below 2^16 to 16 bits. Highway's DemoteTo saturates, which then changes nothing.
template <class D, class V = hn::Vec<hn::Rebind<uint16_t, D>>>
HWY_INLINE V narrow(D, hn::Vec<hn::Rebind<uint32_t, D>> v) {
  const hn::Rebind<int32_t, D> di;
  return hn::DemoteTo(hn::Rebind<uint16_t, D>(), hn::BitCast(di, v));
}

// The upper half of a binary32. Highway 1.0 truncates when it demotes, so the rounding (to nearest,
// ties to even) is done here; a NaN stays one, quiet, with the upper bits of its payload.
struct Bfloat16 {
  static constexpr int kParts = HWY_TARGET == HWY_SCALAR ? 1 : 2;
  using Stored = uint16_t;
  using Lane = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<hn::Rebind<uint16_t, D>> v) {
    const hn::Rebind<uint32_t, D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, v)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> encode(D d, hn::Vec<D> v) {
    return narrow(d, hn::ShiftRight<16>(round(d, v)));
  }

  template <int k, class D>
  static HWY_INLINE hn::Vec<D> decode_part(D d, hn::Vec<hn::Repartition<uint16_t, D>> v) {
    const hn::Rebind<uint32_t, D> du;
    const auto both = hn::BitCast(du, v);
    if constexpr (k == 0) {
      return hn::BitCast(d, hn::ShiftLeft<16>(both));
    } else {
      return hn::BitCast(d, hn::And(both, hn::Set(du, 0xffff0000u)));
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> encode_parts(D d, hn::Vec<D> even,
                                                                       hn::Vec<D> odd) {
    const hn::Rebind<uint32_t, D> du;
    const auto upper = hn::And(round(d, odd), hn::Set(du, 0xffff0000u));
    return hn::BitCast(hn::Repartition<uint16_t, D>(),
                       hn::Or(upper, hn::ShiftRight<16>(round(d, even))));
  }

 private:
  // The result is in the upper 16 bits; the lower ones are of no meaning.
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint32_t, D>> round(D, hn::Vec<D> v) {
    const hn::Rebind<uint32_t, D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
    const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64

// IEEE binary16, converted by the processor.
struct Float16 {
  static constexpr int kParts = 1;
  using Stored = uint16_t;
  using Lane = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<hn::Rebind<uint16_t, D>> v) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> encode(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
};

#else

// IEEE binary16 by integer arithmetic: Highway 1.0's own emulation knows neither infinity nor NaN,
// and truncates. The same bits as the processors' instructions give.
struct Float16 {
  static constexpr int kParts = 1;
  using Stored = uint16_t;
  using Lane = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<hn::Rebind<uint16_t, D>> v) {
    const hn::Rebind<uint32_t, D> du;
    const auto half = hn::PromoteTo(du, v);
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)));
    const auto magnitude = hn::And(half, hn::Set(du, 0x7fffu));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    // Rebiases the exponent by 2^112, which also makes subnormals normal.
    const auto scale = hn::BitCast(d, hn::Set(du, (127u + 112u) << 23));
    const auto finite = hn::BitCast(du, hn::Mul(hn::BitCast(d, shifted), scale));
    const auto special = hn::Gt(magnitude, hn::Set(du, 0x7bffu));
    const auto quiet = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7c00u)),
                                      hn::Set(du, 0x7fc00000u), hn::Set(du, 0x7f800000u));
    const auto value = hn::IfThenElse(special, hn::Or(shifted, quiet), finite);
    return hn::BitCast(d, hn::Or(sign, value));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> encode(D d, hn::Vec<D> v) {
    const hn::Rebind<uint32_t, D> du;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(du, 0x80000000u)));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
    const auto mantissa = hn::ShiftRight<13>(magnitude);
    // Normal results: the exponent rebiased by -112, and the carry of the rounding may reach it.
    const auto bias = hn::Set(du, 0xfffu - (112u << 23));
    const auto odd = hn::And(mantissa, hn::Set(du, 1u));
    const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(bias, odd)));
    // Subnormal results: adding 0.5 leaves the result, rounded, in the lowest bits.
    const auto half = hn::Set(du, 126u << 23);
    const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, half));
    const auto subnormal = hn::Sub(hn::BitCast(du, sum), half);
    const auto payload = hn::Or(hn::And(mantissa, hn::Set(du, 0x3ffu)), hn::Set(du, 0x7e00u));
    const auto special =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000u)), payload, hn::Set(du, 0x7c00u));
    const auto small = hn::Lt(magnitude, hn::Set(du, 113u << 23));
    const auto large = hn::Gt(magnitude, hn::Set(du, (143u << 23) - 1));
    const auto value = hn::IfThenElse(large, special, hn::IfThenElse(small, subnormal, normal));
    return narrow(d, hn::Or(sign, value));
  }
};

#endif

// The 8-bit floats of the OCP 8-bit floating point specification (revision 1.0, 2023), by integer
// arithmetic. Rounds to nearest even. What is too large, infinity included, becomes the largest
// finite value; every NaN becomes the same one. kInfinity: the least magnitude that is no number.
template <int kMantissa, uint32_t kBias, uint32_t kLargest, uint32_t kInfinity, uint32_t kNan>
struct Float8 {
  static constexpr int kParts = HWY_TARGET == HWY_SCALAR ? 1 : 4;
  using Stored = uint8_t;
  using Lane = float;
  template <class D>
  static HWY_INLINE hn::Vec<D> decode(D d, hn::Vec<hn::Rebind<uint8_t, D>> v) {
    return widen<0>(d, hn::PromoteTo(hn::Rebind<uint32_t, D>(), v));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> encode(D d, hn::Vec<D> v) {
    const hn::Rebind<int32_t, D> di;
    return hn::DemoteTo(hn::Rebind<uint8_t, D>(), hn::BitCast(di, round(d, v)));
  }

  template <int k, class D>
  static HWY_INLINE hn::Vec<D> decode_part(D d, hn::Vec<hn::Repartition<uint8_t, D>> v) {
    return widen<8 * k>(d, hn::BitCast(hn::Rebind<uint32_t, D>(), v));
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE hn::Vec<hn::Repartition<uint8_t, D>> encode_parts(D d, V v0, V v1, V v2, V v3) {
    const auto low = hn::Or(round(d, v0), hn::ShiftLeft<8>(round(d, v1)));
    const auto high = hn::Or(round(d, v2), hn::ShiftLeft<8>(round(d, v3)));
    return hn::BitCast(hn::Repartition<uint8_t, D>(), hn::Or(low, hn::ShiftLeft<16>(high)));
  }

 private:
  // Between the exponent fields of this format and of binary32.
  static constexpr uint32_t kRebias = 127 - kBias;
  static constexpr int kShift = 23 - kMantissa;

  // From the 8 bits behind the lowest kFrom ones of each lane.
  template <int kFrom, class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<uint32_t, D>> lane) {
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<int32_t, D> di;
    const auto sign = hn::And(hn::ShiftLeft<24 - kFrom>(lane), hn::Set(du, 0x80000000u));
    const auto magnitude = hn::And(hn::ShiftRight<kFrom>(lane), hn::Set(du, 0x7fu));
    const auto shifted = hn::ShiftLeft<kShift>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(du, kRebias << 23));
    // 2^(1 - bias - mantissa) is the unit of subnormals. A conversion, since processors are slow at
    // arithmetic on subnormals of their own.
    const auto unit = hn::BitCast(d, hn::Set(du, (kRebias + 1 - kMantissa) << 23));
    const auto subnormal = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, magnitude)), unit);
    const auto small = hn::Lt(magnitude, hn::Set(du, 1u << kMantissa));
    const auto number = hn::IfThenElse(small, hn::BitCast(du, subnormal), normal);
    const auto special = hn::Gt(magnitude, hn::Set(du, kInfinity - 1));
    const auto value = hn::IfThenElse(special, hn::Or(shifted, hn::Set(du, 0x7f800000u)), number);
    return hn::BitCast(d, hn::Or(sign, value));
  }

  // The result is in the lowest 8 bits, the others are 0.
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<uint32_t, D>> round(D d, hn::Vec<D> v) {
    const hn::Rebind<uint32_t, D> du;
    const auto bits = hn::BitCast(du, v);
    const auto sign = hn::ShiftLeft<7>(hn::ShiftRight<31>(bits));
    const auto largest = hn::Set(du, ((kLargest >> kMantissa) + kRebias) << 23 |
                                         (kLargest & ((1u << kMantissa) - 1)) << kShift);
    const auto magnitude = hn::Min(hn::And(bits, hn::Set(du, 0x7fffffffu)), largest);
    // Normal results: the exponent rebiased, and the carry of the rounding may reach it.
    const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(du, 1u));
    const auto bias = hn::Set(du, (1u << (kShift - 1)) - 1 - (kRebias << 23));
    const auto normal = hn::ShiftRight<kShift>(hn::Add(magnitude, hn::Add(bias, odd)));
    // Subnormal results: adding a power of two whose last place is their unit leaves the result,
    // rounded, in the lowest bits.
    const auto power = hn::Set(du, (kRebias + 24 - kMantissa) << 23);
    const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, power));
    const auto subnormal = hn::Sub(hn::BitCast(du, sum), power);
    const auto small = hn::Lt(magnitude, hn::Set(du, (kRebias + 1) << 23));
    const auto number = hn::Or(sign, hn::IfThenElse(small, subnormal, normal));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), hn::Set(du, kNan), number);
  }
};

// Without infinities: 0x7f is the NaN, 0x7e is 448.
using Float8e4m3 = Float8<3, 7, 0x7e, 0x7f, 0x7f>;
// As IEEE 754 would have it: 0x7c is infinity, 0x7b is 57344.
using Float8e5m2 = Float8<2, 15, 0x7b, 0x7c, 0x7e>;

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#endif
