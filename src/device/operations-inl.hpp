// The four operations on vectors. Compiled once for each instruction set, hence no #pragma once.
#if defined(HEDDLE_DEVICE_OPERATIONS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEDDLE_DEVICE_OPERATIONS_INL_HPP_
#undef HEDDLE_DEVICE_OPERATIONS_INL_HPP_
#else
#define HEDDLE_DEVICE_OPERATIONS_INL_HPP_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Signed integers add and multiply as unsigned ones: the same bits, and wrapping is defined.
struct Sum {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
  static HWY_INLINE V apply(D d, V a, V b) {
    if constexpr (sizeof(T) > 1) {
      return hn::Mul(a, b);
    } else if constexpr (hn::MaxLanes(D()) == 1) {
      return hn::Set(d, static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
    } else {
      // No set multiplies bytes: the even ones and the odd ones, each as 16 bits.
      const hn::Repartition<uint16_t, D> d16;
      const auto a16 = hn::BitCast(d16, a);
      const auto b16 = hn::BitCast(d16, b);
      const auto low = hn::Set(d16, uint16_t{0x00ff});
      const auto even = hn::And(hn::Mul(a16, b16), low);
      const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::AndNot(low, b16));
      return hn::BitCast(d, hn::Or(even, odd));
    }
  }
};

struct Min {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};

struct Max {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#endif
