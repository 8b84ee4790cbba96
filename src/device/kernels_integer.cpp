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

// In the order of heddleRedOp_t. Sums and products of signed integers are those of unsigned ones.
template <typename T, typename U>
constexpr Kernel kIntegerKernels[heddleNumOps] = {
    reduce_kernel<Plain<U>, Sum>, reduce_kernel<Plain<U>, Prod>, reduce_kernel<Plain<T>, Max>,
    reduce_kernel<Plain<T>, Min>, reduce_kernel<Plain<U>, Sum>,
};

Kernel select_integer(base::DataType type, base::RedOp op) {
  switch (type) {
    case heddleInt8: return kIntegerKernels<int8_t, uint8_t>[op];
    case heddleUint8: return kIntegerKernels<uint8_t, uint8_t>[op];
    case heddleInt32: return kIntegerKernels<int32_t, uint32_t>[op];
    case heddleUint32: return kIntegerKernels<uint32_t, uint32_t>[op];
    case heddleInt64: return kIntegerKernels<int64_t, uint64_t>[op];
    case heddleUint64: return kIntegerKernels<uint64_t, uint64_t>[op];
    default: return nullptr;
  }
}

void copy_bytes(const KernelArguments& task) {
  // The operation is never applied with one source.
  Pass<Plain<uint8_t>, Max, 1, 0>(task).run(task.count, task.streaming);
}

Kernel select_copy() { return copy_bytes; }

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle::device {

HWY_EXPORT(select_integer);
HWY_EXPORT(select_copy);
HWY_EXPORT(target_name);

Kernel integer_kernel(base::DataType type, base::RedOp op) {
  return HWY_DYNAMIC_DISPATCH(select_integer)(type, op);
}
Kernel copy_kernel() { return HWY_DYNAMIC_DISPATCH(select_copy)(); }
const char* kernel_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace heddle::device
#endif
