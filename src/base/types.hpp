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

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all
};
inline constexpr int kCollectives = 8;

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
// name_of's spelling (all-reduce), and with underscores (all_reduce).
std::optional<Collective> collective_named(std::string_view name);
// "all-reduce, all-gather, ...".
std::string known_collectives();

// Blocks of `count` elements in the input and the output of a collective of `ranks` ranks, on the
// rank that has most.
constexpr int input_blocks(Collective collective, int ranks) {
  return collective == Collective::reduce_scatter || collective == Collective::scatter ||
                 collective == Collective::all_to_all
             ? ranks
             : 1;
}
constexpr int output_blocks(Collective collective, int ranks) {
  return collective == Collective::all_gather || collective == Collective::gather ||
                 collective == Collective::all_to_all
             ? ranks
             : 1;
}
// Whether only the root has an input, or an output; the other ranks may pass null for theirs.
constexpr bool only_root_sends(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::scatter;
}
constexpr bool only_root_receives(Collective collective) {
  return collective == Collective::reduce || collective == Collective::gather;
}
constexpr bool has_root(Collective collective) {
  return only_root_sends(collective) || only_root_receives(collective);
}
// The same on one rank.
constexpr int input_blocks(Collective collective, int ranks, int rank, int root) {
  return only_root_sends(collective) && rank != root ? 0 : input_blocks(collective, ranks);
}
constexpr int output_blocks(Collective collective, int ranks, int rank, int root) {
  return only_root_receives(collective) && rank != root ? 0 : output_blocks(collective, ranks);
}
constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}
// The input block that lies in the memory of an output block when the operation is in place, or -1:
// NCCL's rule, block `rank` for one block. An all-to-all has no in-place form.
constexpr int input_in_place(Collective collective, int rank, int root, int output_block) {
  switch (collective) {
    case Collective::all_reduce: return 0;
    case Collective::all_gather: return output_block == rank ? 0 : -1;
    case Collective::reduce_scatter: return rank;
    case Collective::broadcast:
    case Collective::reduce: return rank == root ? 0 : -1;
    case Collective::gather: return rank == root && output_block == rank ? 0 : -1;
    case Collective::scatter: return rank == root ? rank : -1;
    case Collective::all_to_all: return -1;
  }
  return -1;
}

}  // namespace heddle::base
