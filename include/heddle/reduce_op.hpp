// What reductions do: one of five ops, or a sum of scaled inputs.
#pragma once

#include <utility>

#include "heddle/handles.hpp"
#include "heddle/heddle.h"

namespace heddle {

enum class Op {
  sum = heddleSum,
  prod = heddleProd,
  max = heddleMax,
  min = heddleMin,
  avg = heddleAvg
};

// A sum to which each rank's input is multiplied by that rank's scalar first: an op for operations
// of the scalar's type on the communicator that made it (pre_scaled_sum). Must be destroyed before
// that; operations under way keep theirs.
class PreScaledSum {
 public:
  // `scalar` is one element of `type` in host memory, read before the call returns.
  PreScaledSum(heddleComm_t comm, const void* scalar, heddleDataType_t type) : comm_(comm) {
    detail::check(heddleRedOpCreatePreMulSum(&op_, scalar, type, heddleScalarHostImmediate, comm));
  }
  PreScaledSum(PreScaledSum&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), op_(other.op_) {}
  PreScaledSum& operator=(PreScaledSum&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(op_, other.op_);
    return *this;
  }
  ~PreScaledSum() {
    if (comm_ != nullptr) (void)heddleRedOpDestroy(op_, comm_);
  }
  heddleRedOp_t get() const noexcept { return op_; }

 private:
  heddleComm_t comm_;
  heddleRedOp_t op_ = heddleNumOps;
};

// What a reduction does: an Op, or a PreScaledSum, which must outlive the call.
class ReduceOp {
 public:
  constexpr ReduceOp(Op op) : op_(static_cast<heddleRedOp_t>(op)) {}  // NOLINT: meant to convert
  ReduceOp(const PreScaledSum& sum) : op_(sum.get()) {}               // NOLINT
  constexpr heddleRedOp_t get() const noexcept { return op_; }

 private:
  heddleRedOp_t op_;
};

}  // namespace heddle
