// Whether the sizes of ranges fit an operation; what does not is an Error that names both sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "heddle/operations.hpp"

namespace heddle::detail {

// Elements of the two buffers of operation `what`.
struct BufferSizes {
  const char* what;
  std::size_t send, receive;
};
// Elements of one buffer (`side`) of operation `what`.
struct BufferSize {
  const char *what, *side;
  std::size_t size;
};

// The elements of a part, of which the buffers hold so many: one, or one for each rank.
inline std::size_t count_of(const BufferSizes& sizes, std::size_t send_parts,
                            std::size_t receive_parts) {
  if (sizes.send % send_parts == 0 && sizes.receive % receive_parts == 0 &&
      sizes.send / send_parts == sizes.receive / receive_parts)
    return sizes.send / send_parts;
  const std::string ranks = std::to_string(std::max(send_parts, receive_parts));
  const std::string rule =
      send_parts != receive_parts ? std::string(send_parts > 1 ? "send" : "receive") +
                                        " must hold " + ranks + " times as many, a part per rank"
      : send_parts > 1 ? "they must be equal and a multiple of " + ranks + ", a part per rank"
                       : std::string("they must be equal");
  throw Error(heddleInvalidArgument, std::string(sizes.what) + ": send holds " +
                                         std::to_string(sizes.send) + " elements and receive " +
                                         std::to_string(sizes.receive) + "; " + rule);
}

[[noreturn]] inline void fail_size(const BufferSize& buffer, const std::string& rule) {
  throw Error(heddleInvalidArgument, std::string(buffer.what) + ": " + buffer.side + " holds " +
                                         std::to_string(buffer.size) + " elements; " + rule);
}

// All blocks lie in the buffer.
inline void require_room(const BufferSize& buffer, const Blocks& blocks) {
  std::size_t end = 0, next = 0;
  for (std::size_t rank = 0; rank < blocks.counts.size(); ++rank) {
    const bool displaced = rank < blocks.displacements.size();
    next = (displaced ? blocks.displacements[rank] : next) + blocks.counts[rank];
    if (blocks.counts[rank] > 0) end = std::max(end, next);
  }
  if (end > buffer.size) fail_size(buffer, "its blocks end at " + std::to_string(end));
}

// The buffer is this rank's block alone. A wrong number of counts is told by the operation.
inline void require_block(const BufferSize& buffer, std::span<const std::size_t> counts, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  if (own < counts.size() && counts[own] != buffer.size)
    fail_size(buffer, "the count of this rank, " + std::to_string(rank) + ", is " +
                          std::to_string(counts[own]));
}

inline void fit_all_gather_v(std::size_t send, std::size_t receive, const Blocks& blocks,
                             int rank) {
  require_block({"all_gather_v", "send", send}, blocks.counts, rank);
  require_room({"all_gather_v", "receive", receive}, blocks);
}
inline void fit_reduce_scatter_v(std::size_t send, std::size_t receive,
                                 std::span<const std::size_t> counts, int rank) {
  require_room({"reduce_scatter_v", "send", send}, counts);
  require_block({"reduce_scatter_v", "receive", receive}, counts, rank);
}

}  // namespace heddle::detail
