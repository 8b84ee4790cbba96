// How elements lie in memory and as what they are computed with. Compiled once for each instruction
// set, hence no #pragma once.
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

// kPaired says that a codec also works on full vectors of stored elements, two vectors of lanes at
// a time: the even elements and the odd ones (decode_even, decode_odd, encode_pair). That saves
// moving elements across the vector.
template <typename T>
struct Plain {
  static constexpr bool kPaired = false;
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
  static constexpr bool kPaired = HWY_TARGET != HWY_SCALAR;
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

  template <class D>
  static HWY_INLINE hn::Vec<D> decode_even(D d, hn::Vec<hn::Repartition<uint16_t, D>> v) {
    const hn::Rebind<uint32_t, D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::BitCast(du, v)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> decode_odd(D d, hn::Vec<hn::Repartition<uint16_t, D>> v) {
    const hn::Rebind<uint32_t, D> du;
    return hn::BitCast(d, hn::And(hn::BitCast(du, v), hn::Set(du, 0xffff0000u)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Repartition<uint16_t, D>> encode_pair(D d, hn::Vec<D> even,
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
    return hn::IfThenElse(hn::RebindMask(du, hn::Ne(v, v)), quiet, rounded);
  }
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64

// IEEE binary16, converted by the processor.
struct Float16 {
  static constexpr bool kPaired = false;
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
  static constexpr bool kPaired = false;
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

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#endif
