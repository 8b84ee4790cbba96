#include "harness/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace heddle::bench {
namespace {

struct TypeRow {
  std::string_view name, other_name;
  std::size_t size;
};

// In the order of heddleDataType_t.
constexpr std::array<TypeRow, heddleNumTypes> kTypes = {{{"int8", "", 1},
                                                         {"uint8", "", 1},
                                                         {"int32", "", 4},
                                                         {"uint32", "", 4},
                                                         {"int64", "", 8},
                                                         {"uint64", "", 8},
                                                         {"half", "float16", 2},
                                                         {"float", "float32", 4},
                                                         {"double", "float64", 8},
                                                         {"bfloat16", "", 2},
                                                         {"f8e4m3", "", 1},
                                                         {"f8e5m2", "", 1}}};
// In the order of heddleRedOp_t, and kMulSum.
constexpr std::array<std::string_view, heddleNumOps + 1> kOps = {"sum", "prod", "max",
                                                                 "min", "avg",  "mulsum"};

[[noreturn]] void fail_unknown(std::string_view what, std::string_view name, std::string allowed) {
  throw Error(heddleInvalidArgument,
              fmt::format("unknown {} \"{}\"; allowed: {}, all", what, name, allowed));
}

}  // namespace

std::string_view name_of(heddleDataType_t type) { return kTypes.at(type).name; }
std::string_view name_of(Op op) { return kOps.at(static_cast<std::size_t>(op)); }
std::size_t size_of(heddleDataType_t type) { return kTypes.at(type).size; }

bool is_float(heddleDataType_t type) {
  return type == heddleFloat16 || type == heddleFloat32 || type == heddleFloat64 ||
         type == heddleBfloat16 || type == heddleFloat8e4m3 || type == heddleFloat8e5m2;
}

std::vector<heddleDataType_t> types_named(std::string_view name) {
  std::vector<heddleDataType_t> found;
  std::string allowed;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    const TypeRow& row = kTypes[i];
    if (name == "all" || name == row.name || (!name.empty() && name == row.other_name))
      found.push_back(static_cast<heddleDataType_t>(i));
    allowed += (i == 0 ? "" : ", ") + std::string(row.name);
  }
  if (found.empty()) fail_unknown("data type", name, allowed);
  return found;
}

std::vector<Op> ops_named(std::string_view name) {
  std::vector<Op> found;
  std::string allowed;
  for (std::size_t i = 0; i < kOps.size(); ++i) {
    if (name == "all" || name == kOps[i]) found.push_back(static_cast<Op>(i));
    allowed += (i == 0 ? "" : ", ") + std::string(kOps[i]);
  }
  if (found.empty()) fail_unknown("operation", name, allowed);
  return found;
}

}  // namespace heddle::bench
