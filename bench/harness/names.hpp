// Element types and reductions by the names that nccl-tests prints and accepts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/heddle.hpp"

namespace heddle::bench {

// nccl-tests' name for a sum to which each rank's input is scaled first (pattern.hpp).
inline constexpr Op kMulSum = static_cast<Op>(heddleNumOps);

std::string_view name_of(heddleDataType_t type);
std::string_view name_of(Op op);
std::size_t size_of(heddleDataType_t type);
bool is_float(heddleDataType_t type);

// The type, or all of them for "all"; numpy's float16, float32 and float64 too. Fails with
// heddleInvalidArgument, listing what is allowed.
std::vector<heddleDataType_t> types_named(std::string_view name);
std::vector<Op> ops_named(std::string_view name);

}  // namespace heddle::bench
