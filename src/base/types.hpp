// Data types, reductions and collectives: names, sizes, and the shapes of their buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "heddle/heddle.h"

namespace heddle::base {

using DataType = heddleDataType_t;
using RedOp = heddleRedOp_t;

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter };
inline constexpr int kCollectives = 3;

// Size of one element in bytes; 0 for a value that is not a type.
constexpr std::size_t size_of(DataType type) {
  constexpr std::size_t sizes[heddleNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return static_cast<unsigned>(type) < heddleNumTypes ? sizes[type] : 0;
}

// nccl-tests' spelling: int8, half, float, ...; "invalid" for a value that is not a type.
std::string_view name_of(DataType type);
std::string_view name_of(RedOp op);
std::string_view name_of(Collective collective);
// Accepts nccl-tests' spelling and numpy's (float16, float32, float64).
std::optional<DataType> data_type_named(std::string_view name);
std::optional<RedOp> red_op_named(std::string_view name);

// Blocks of `count` elements in the input and the output of a collective of `ranks` ranks.
constexpr int input_blocks(Collective collective, int ranks) {
  return collective == Collective::reduce_scatter ? ranks : 1;
}
constexpr int output_blocks(Collective collective, int ranks) {
  return collective == Collective::all_gather ? ranks : 1;
}
constexpr bool reduces(Collective collective) { return collective != Collective::all_gather; }

}  // namespace heddle::base
