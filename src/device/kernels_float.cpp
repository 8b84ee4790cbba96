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

template <class Codec>
void fill_row(Kernel (&row)[heddleNumOps]) {
  row[heddleSum] = row[heddleAvg] = reduce_kernel<Codec, Sum>;
  row[heddleProd] = reduce_kernel<Codec, Prod>;
  row[heddleMax] = reduce_kernel<Codec, Max>;
  row[heddleMin] = reduce_kernel<Codec, Min>;
}

void fill_floats(KernelTable& table) {
  fill_row<Float16>(table.reduce[heddleFloat16]);
  fill_row<Plain<float>>(table.reduce[heddleFloat32]);
  fill_row<Plain<double>>(table.reduce[heddleFloat64]);
  fill_row<Bfloat16>(table.reduce[heddleBfloat16]);
  fill_row<Float8e4m3>(table.reduce[heddleFloat8e4m3]);
  fill_row<Float8e5m2>(table.reduce[heddleFloat8e5m2]);
  table.scaled_sum[heddleFloat16] = scaled_sum_kernel<Float16>;
  table.scaled_sum[heddleFloat32] = scaled_sum_kernel<Plain<float>>;
  table.scaled_sum[heddleFloat64] = scaled_sum_kernel<Plain<double>>;
  table.scaled_sum[heddleBfloat16] = scaled_sum_kernel<Bfloat16>;
  table.scaled_sum[heddleFloat8e4m3] = scaled_sum_kernel<Float8e4m3>;
  table.scaled_sum[heddleFloat8e5m2] = scaled_sum_kernel<Float8e5m2>;
}

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle::device {

HWY_EXPORT(fill_floats);

void fill_float_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_floats)(table); }

}  // namespace heddle::device
#endif
