// The kernels of integers, and the copy, for every instruction set.
#include "device/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/kernels_integer.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "device/codecs-inl.hpp"
#include "device/operations-inl.hpp"
#include "device/pass-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {

void copy_bytes(const KernelArguments& task) {
  // The operation is never applied with one source.
  Pass<Plain<uint8_t>, Max, 1, 0>(task).run(task.count, task.streaming);
}

// Sums and products of signed integers (T) are those of unsigned ones (U).
template <typename T, typename U>
void fill_row(Kernel (&row)[heddleNumOps]) {
  row[heddleSum] = row[heddleAvg] = reduce_kernel<Plain<U>, Sum>;
  row[heddleProd] = reduce_kernel<Plain<U>, Prod>;
  row[heddleMax] = reduce_kernel<Plain<T>, Max>;
  row[heddleMin] = reduce_kernel<Plain<T>, Min>;
}

void fill_integers(KernelTable& table) {
  table.target = hwy::TargetName(HWY_TARGET);
  table.copy = copy_bytes;
  fill_row<int8_t, uint8_t>(table.reduce[heddleInt8]);
  fill_row<uint8_t, uint8_t>(table.reduce[heddleUint8]);
  fill_row<int32_t, uint32_t>(table.reduce[heddleInt32]);
  fill_row<uint32_t, uint32_t>(table.reduce[heddleUint32]);
  fill_row<int64_t, uint64_t>(table.reduce[heddleInt64]);
  fill_row<uint64_t, uint64_t>(table.reduce[heddleUint64]);
  table.scaled_sum[heddleInt8] = table.scaled_sum[heddleUint8] = scaled_sum_kernel<Plain<uint8_t>>;
  table.scaled_sum[heddleInt32] = scaled_sum_kernel<Plain<uint32_t>>;
  table.scaled_sum[heddleUint32] = scaled_sum_kernel<Plain<uint32_t>>;
  table.scaled_sum[heddleInt64] = scaled_sum_kernel<Plain<uint64_t>>;
  table.scaled_sum[heddleUint64] = scaled_sum_kernel<Plain<uint64_t>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle::device {

HWY_EXPORT(fill_integers);

void fill_integer_kernels(KernelTable& table) { HWY_DYNAMIC_DISPATCH(fill_integers)(table); }

}  // namespace heddle::device
#endif
