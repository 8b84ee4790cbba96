// The operations of a communicator by pointers, counts and types, as in operations.h, which says
// what each does and what "in place" means; range_operations.hpp has the same for ranges. A call
// blocks until this rank's part is complete; its ..._async form returns at once with the work to
// wait for, and cannot stand inside a group.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>

#include "heddle/handles.hpp"
#include "heddle/heddle.h"
#include "heddle/membership.hpp"
#include "heddle/reduce_op.hpp"

namespace heddle {

// Lengths of the ranks' blocks in a buffer, in elements, and where they start; without
// displacements they lie one after another. Refers to what it was made of.
struct Blocks {
  template <typename Counts>
  requires std::convertible_to<Counts&&, std::span<const std::size_t>> Blocks(
      Counts&& block_counts,  // NOLINT: meant to convert
      std::span<const std::size_t> block_displacements = {})
      : counts(block_counts), displacements(block_displacements) {}

  std::span<const std::size_t> counts, displacements;
};

class Operations {
 public:
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  heddleComm_t get() const noexcept { return comm_.get(); }

  void all_reduce(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                  ReduceOp op, heddleStream_t stream = nullptr) {
    detail::check(heddleAllReduce(send, receive, count, type, op.get(), get(), stream));
  }
  [[nodiscard]] Work all_reduce_async(const void* send, void* receive, std::size_t count,
                                      heddleDataType_t type, ReduceOp op,
                                      heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleAllReduceAsync(send, receive, count, type, op.get(), get(), stream, work);
    });
  }

  void all_gather(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                  heddleStream_t stream = nullptr) {
    detail::check(heddleAllGather(send, receive, count, type, get(), stream));
  }
  [[nodiscard]] Work all_gather_async(const void* send, void* receive, std::size_t count,
                                      heddleDataType_t type, heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleAllGatherAsync(send, receive, count, type, get(), stream, work);
    });
  }

  void reduce_scatter(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                      ReduceOp op, heddleStream_t stream = nullptr) {
    detail::check(heddleReduceScatter(send, receive, count, type, op.get(), get(), stream));
  }
  [[nodiscard]] Work reduce_scatter_async(const void* send, void* receive, std::size_t count,
                                          heddleDataType_t type, ReduceOp op,
                                          heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleReduceScatterAsync(send, receive, count, type, op.get(), get(), stream, work);
    });
  }

  void broadcast(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                 int root, heddleStream_t stream = nullptr) {
    detail::check(heddleBroadcast(send, receive, count, type, root, get(), stream));
  }
  [[nodiscard]] Work broadcast_async(const void* send, void* receive, std::size_t count,
                                     heddleDataType_t type, int root,
                                     heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleBroadcastAsync(send, receive, count, type, root, get(), stream, work);
    });
  }

  void reduce(const void* send, void* receive, std::size_t count, heddleDataType_t type,
              ReduceOp op, int root, heddleStream_t stream = nullptr) {
    detail::check(heddleReduce(send, receive, count, type, op.get(), root, get(), stream));
  }
  [[nodiscard]] Work reduce_async(const void* send, void* receive, std::size_t count,
                                  heddleDataType_t type, ReduceOp op, int root,
                                  heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleReduceAsync(send, receive, count, type, op.get(), root, get(), stream, work);
    });
  }

  void gather(const void* send, void* receive, std::size_t count, heddleDataType_t type, int root,
              heddleStream_t stream = nullptr) {
    detail::check(heddleGather(send, receive, count, type, root, get(), stream));
  }
  [[nodiscard]] Work gather_async(const void* send, void* receive, std::size_t count,
                                  heddleDataType_t type, int root,
                                  heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleGatherAsync(send, receive, count, type, root, get(), stream, work);
    });
  }

  void scatter(const void* send, void* receive, std::size_t count, heddleDataType_t type, int root,
               heddleStream_t stream = nullptr) {
    detail::check(heddleScatter(send, receive, count, type, root, get(), stream));
  }
  [[nodiscard]] Work scatter_async(const void* send, void* receive, std::size_t count,
                                   heddleDataType_t type, int root,
                                   heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleScatterAsync(send, receive, count, type, root, get(), stream, work);
    });
  }

  void all_to_all(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                  heddleStream_t stream = nullptr) {
    detail::check(heddleAlltoAll(send, receive, count, type, get(), stream));
  }
  [[nodiscard]] Work all_to_all_async(const void* send, void* receive, std::size_t count,
                                      heddleDataType_t type, heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleAlltoAllAsync(send, receive, count, type, get(), stream, work);
    });
  }

  void all_gather_v(const void* send, void* receive, const Blocks& blocks, heddleDataType_t type,
                    heddleStream_t stream = nullptr) {
    detail::check(heddleAllGatherv(send, receive, counts(blocks), displacements(blocks), type,
                                   get(), stream));
  }
  [[nodiscard]] Work all_gather_v_async(const void* send, void* receive, const Blocks& blocks,
                                        heddleDataType_t type, heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleAllGathervAsync(send, receive, counts(blocks), displacements(blocks), type,
                                   get(), stream, work);
    });
  }

  void reduce_scatter_v(const void* send, void* receive, std::span<const std::size_t> block_counts,
                        heddleDataType_t type, ReduceOp op, heddleStream_t stream = nullptr) {
    detail::check(heddleReduceScatterv(send, receive, entries("counts", block_counts), type,
                                       op.get(), get(), stream));
  }
  [[nodiscard]] Work reduce_scatter_v_async(const void* send, void* receive,
                                            std::span<const std::size_t> block_counts,
                                            heddleDataType_t type, ReduceOp op,
                                            heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleReduceScattervAsync(send, receive, entries("counts", block_counts), type,
                                       op.get(), get(), stream, work);
    });
  }

  void all_to_all_v(const void* send, const Blocks& sends, void* receive, const Blocks& receives,
                    heddleDataType_t type, heddleStream_t stream = nullptr) {
    detail::check(heddleAlltoAllv(send, counts(sends), displacements(sends), receive,
                                  counts(receives), displacements(receives), type, get(), stream));
  }
  [[nodiscard]] Work all_to_all_v_async(const void* send, const Blocks& sends, void* receive,
                                        const Blocks& receives, heddleDataType_t type,
                                        heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleAlltoAllvAsync(send, counts(sends), displacements(sends), receive,
                                  counts(receives), displacements(receives), type, get(), stream,
                                  work);
    });
  }

  void barrier(heddleStream_t stream = nullptr) { detail::check(heddleBarrier(get(), stream)); }
  [[nodiscard]] Work barrier_async(heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) { return heddleBarrierAsync(get(), stream, work); });
  }

  void send(const void* buffer, std::size_t count, heddleDataType_t type, int peer,
            heddleStream_t stream = nullptr) {
    detail::check(heddleSend(buffer, count, type, peer, get(), stream));
  }
  [[nodiscard]] Work send_async(const void* buffer, std::size_t count, heddleDataType_t type,
                                int peer, heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleSendAsync(buffer, count, type, peer, get(), stream, work);
    });
  }

  void receive(void* buffer, std::size_t count, heddleDataType_t type, int peer,
               heddleStream_t stream = nullptr) {
    detail::check(heddleRecv(buffer, count, type, peer, get(), stream));
  }
  [[nodiscard]] Work receive_async(void* buffer, std::size_t count, heddleDataType_t type, int peer,
                                   heddleStream_t stream = nullptr) {
    return start([&](heddleWork_t* work) {
      return heddleRecvAsync(buffer, count, type, peer, get(), stream, work);
    });
  }

  // The op that multiplies this rank's input by one element of `type` before it is added.
  PreScaledSum pre_scaled_sum(const void* scalar, heddleDataType_t type) {
    return PreScaledSum(comm_, scalar, type);
  }

 protected:
  explicit Operations(heddleComm_t comm) : comm_(comm) {
    detail::check(heddleCommUserRank(comm, &rank_));
    detail::check(heddleCommCount(comm, &size_));
  }
  std::size_t parts() const noexcept { return static_cast<std::size_t>(size_); }
  const detail::Membership& membership() const noexcept { return comm_; }
  heddleComm_t release() noexcept { return comm_.release(); }

 private:
  template <typename Start>
  static Work start(Start&& call) {
    heddleWork_t work = nullptr;
    detail::check(call(&work));
    return Work(work);
  }
  // An array with an entry for each rank.
  const std::size_t* entries(const char* what, std::span<const std::size_t> array) const {
    if (array.size() == parts()) return array.data();
    throw Error(heddleInvalidArgument, std::string(what) + " holds " +
                                           std::to_string(array.size()) + " entries of " +
                                           std::to_string(parts()) + " ranks; allowed: one a rank");
  }
  const std::size_t* counts(const Blocks& blocks) const { return entries("counts", blocks.counts); }
  const std::size_t* displacements(const Blocks& blocks) const {
    return blocks.displacements.empty() ? nullptr : entries("displacements", blocks.displacements);
  }

  detail::Membership comm_;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace heddle
