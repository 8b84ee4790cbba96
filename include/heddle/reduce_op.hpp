// What reductions do: one of five ops, or a sum of scaled inputs.
#pragma once

#include <memory>
#include <utility>

#include "heddle/heddle.h"
#include "heddle/membership.hpp"

namespace heddle {

enum class Op {
  sum = heddleSum,
  prod = heddleProd,
  max = heddleMax,
  min = heddleMin,
  avg = heddleAvg
};

// A sum to which each rank's input is multiplied by that rank's scalar first: an op for operations
// of the scalar's type on the communicator that made it (pre_scaled_sum). Either may end first;
// operations under way keep theirs.
class PreScaledSum {
 public:
  // `scalar` is one element of `type` in host memory, read before the call returns.
  // Throws heddleInvalidArgument for a null scalar or an unknown type.
  PreScaledSum(const detail::Membership& of, const void* scalar, heddleDataType_t type)
      : comm_(of.shared()) {
    detail::check(
        heddleRedOpCreatePreMulSum(&op_, scalar, type, heddleScalarHostImmediate, of.get()));
  }
  PreScaledSum(PreScaledSum&& other) noexcept = default;
  PreScaledSum& operator=(PreScaledSum&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(op_, other.op_);
    return *this;
  }
  ~PreScaledSum() {
    if (comm_) comm_->if_good([this](heddleComm_t comm) { (void)heddleRedOpDestroy(op_, comm); });
  }
  heddleRedOp_t get() const noexcept { return op_; }

 private:
  std::shared_ptr<detail::SharedComm> comm_;  // null: moved from
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
