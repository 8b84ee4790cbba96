// The kernels of floating-point types, for every instruction set.
#include "device/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/kernels_float.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "device/codecs-inl.hpp"
#include "device/operations-inl.hpp"
#include "device/pass-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {

// In the order of heddleRedOp_t.
template <class Codec>
constexpr Kernel kFloatKernels[heddleNumOps] = {
    reduce_kernel<Codec, Sum>, reduce_kernel<Codec, Prod>, reduce_kernel<Codec, Max>,
    reduce_kernel<Codec, Min>, reduce_kernel<Codec, Sum>,
};

Kernel select_float(base::DataType type, base::RedOp op) {
  switch (type) {
    case heddleFloat16: return kFloatKernels<Float16>[op];
    case heddleFloat32: return kFloatKernels<Plain<float>>[op];
    case heddleFloat64: return kFloatKernels<Plain<double>>[op];
    case heddleBfloat16: return kFloatKernels<Bfloat16>[op];
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle::device {

HWY_EXPORT(select_float);

Kernel float_kernel(base::DataType type, base::RedOp op) {
  return HWY_DYNAMIC_DISPATCH(select_float)(type, op);
}

}  // namespace heddle::device
#endif
