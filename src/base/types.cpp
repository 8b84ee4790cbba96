#include "base/types.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace heddle::base {
namespace {

constexpr std::array<std::string_view, heddleNumTypes> kTypeNames = {
    "int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
    "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, heddleNumOps> kOpNames = {"sum", "prod", "max", "min",
                                                                 "avg"};

}  // namespace

std::string_view name_of(DataType type) {
  return static_cast<unsigned>(type) < kTypeNames.size() ? kTypeNames[type] : "invalid";
}

std::string_view name_of(RedOp op) {
  return static_cast<unsigned>(op) < kOpNames.size() ? kOpNames[op] : "invalid";
}

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "all-reduce";
    case Collective::all_gather: return "all-gather";
    case Collective::reduce_scatter: return "reduce-scatter";
    case Collective::broadcast: return "broadcast";
    case Collective::reduce: return "reduce";
    case Collective::gather: return "gather";
    case Collective::scatter: return "scatter";
    case Collective::all_to_all: return "all-to-all";
  }
  return "invalid";
}

std::optional<DataType> data_type_named(std::string_view name) {
  if (name == "float16") name = "half";
  if (name == "float32") name = "float";
  if (name == "float64") name = "double";
  for (std::size_t i = 0; i < kTypeNames.size(); ++i)
    if (kTypeNames[i] == name) return static_cast<DataType>(i);
  return std::nullopt;
}

std::optional<RedOp> red_op_named(std::string_view name) {
  for (std::size_t i = 0; i < kOpNames.size(); ++i)
    if (kOpNames[i] == name) return static_cast<RedOp>(i);
  return std::nullopt;
}

std::optional<Collective> collective_named(std::string_view name) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (int c = 0; c < kCollectives; ++c)
    if (name_of(static_cast<Collective>(c)) == dashed) return static_cast<Collective>(c);
  return std::nullopt;
}

std::string known_collectives() {
  std::string names;
  for (int c = 0; c < kCollectives; ++c)
    names.append(c == 0 ? "" : ", ").append(name_of(static_cast<Collective>(c)));
  return names;
}

}  // namespace heddle::base
