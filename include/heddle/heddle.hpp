// Heddle for C++20: owners and types over heddle.h, header-only, so that only the C API crosses the
// library's boundary. A call that fails throws heddle::Error with the library's sentence. Buffers
// are contiguous ranges (std::vector, std::span, std::array, HostBuffer); their element type and
// size give the operation's. Operations of one communicator run in the order of the calls.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <string>
#include <type_traits>

#include "heddle/element.hpp"
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

struct Options {
  // "NAME=value NAME=value": settings of docs/settings.md; they win over the environment.
  std::string settings;
};

// This process's membership, as one rank, in a group of ranks. The destructor leaves (and waits for
// this rank's operations); it never throws.
class Communicator {
 public:
  // Joins the world that the launcher describes (docs/bootstrap.md), or a world of one.
  static Communicator from_environment(const Options& options = {}) {
    const heddleConfig_t config = config_of(options);
    heddleComm_t comm = nullptr;
    detail::check(heddleCommInitFromEnvironment(&comm, &config));
    return Communicator(comm);
  }
  static Communicator from_unique_id(const UniqueId& id, int ranks, int rank,
                                     const Options& options = {}) {
    const heddleConfig_t config = config_of(options);
    heddleComm_t comm = nullptr;
    detail::check(heddleCommInitRankConfig(&comm, ranks, id.get(), rank, &config));
    return Communicator(comm);
  }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  heddleComm_t get() const noexcept { return comm_.get(); }
  // What carries the data, in one line for people: shared memory, or the provider and its rails.
  std::string network() const {
    const char* text = nullptr;
    detail::check(heddleCommGetNetwork(get(), &text));
    return text;
  }

  // Pointers and a type, as in heddle.h; `stream` orders operations on device buffers.
  void all_reduce(const void* send, void* receive, std::size_t count, heddleDataType_t type, Op op,
                  heddleStream_t stream = nullptr) {
    detail::check(heddleAllReduce(send, receive, count, type, c(op), get(), stream));
  }
  void all_gather(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                  heddleStream_t stream = nullptr) {
    detail::check(heddleAllGather(send, receive, count, type, get(), stream));
  }
  void reduce_scatter(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                      Op op, heddleStream_t stream = nullptr) {
    detail::check(heddleReduceScatter(send, receive, count, type, c(op), get(), stream));
  }
  Work all_reduce_async(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                        Op op, heddleStream_t stream = nullptr) {
    heddleWork_t work = nullptr;
    detail::check(heddleAllReduceAsync(send, receive, count, type, c(op), get(), stream, &work));
    return Work(work);
  }
  Work all_gather_async(const void* send, void* receive, std::size_t count, heddleDataType_t type,
                        heddleStream_t stream = nullptr) {
    heddleWork_t work = nullptr;
    detail::check(heddleAllGatherAsync(send, receive, count, type, get(), stream, &work));
    return Work(work);
  }
  Work reduce_scatter_async(const void* send, void* receive, std::size_t count,
                            heddleDataType_t type, Op op, heddleStream_t stream = nullptr) {
    heddleWork_t work = nullptr;
    detail::check(
        heddleReduceScatterAsync(send, receive, count, type, c(op), get(), stream, &work));
    return Work(work);
  }

  // receive[i] = op over ranks of send[i]; sizes equal. One range: in place.
  template <Input S, Output R>
  requires Pair<S, R>
  void all_reduce(S&& send, R&& receive, Op op) {
    require("all_reduce", std::ranges::size(send), std::ranges::size(receive), 1, 1);
    all_reduce(at(send), at(receive), std::ranges::size(send), type_of<S>, op);
  }
  template <Output R>
  void all_reduce(R&& buffer, Op op) {
    all_reduce(at(buffer), at(buffer), std::ranges::size(buffer), type_of<R>, op);
  }
  template <Input S, Output R>
  requires Pair<S, R>
  [[nodiscard]] Work all_reduce_async(S&& send, R&& receive, Op op) {
    require("all_reduce", std::ranges::size(send), std::ranges::size(receive), 1, 1);
    return all_reduce_async(at(send), at(receive), std::ranges::size(send), type_of<S>, op);
  }
  template <Output R>
  [[nodiscard]] Work all_reduce_async(R&& buffer, Op op) {
    return all_reduce_async(at(buffer), at(buffer), std::ranges::size(buffer), type_of<R>, op);
  }

  // receive = every rank's send, by rank; receive holds size() times as much. In place: send is
  // this rank's part of receive.
  template <Input S, Output R>
  requires Pair<S, R>
  void all_gather(S&& send, R&& receive) {
    require("all_gather", std::ranges::size(send), std::ranges::size(receive), 1, parts());
    all_gather(at(send), at(receive), std::ranges::size(send), type_of<S>);
  }
  template <Input S, Output R>
  requires Pair<S, R>
  [[nodiscard]] Work all_gather_async(S&& send, R&& receive) {
    require("all_gather", std::ranges::size(send), std::ranges::size(receive), 1, parts());
    return all_gather_async(at(send), at(receive), std::ranges::size(send), type_of<S>);
  }

  // receive = this rank's part of op over ranks of send; send holds size() times as much. In place:
  // receive is this rank's part of send.
  template <Input S, Output R>
  requires Pair<S, R>
  void reduce_scatter(S&& send, R&& receive, Op op) {
    require("reduce_scatter", std::ranges::size(send), std::ranges::size(receive), parts(), 1);
    reduce_scatter(at(send), at(receive), std::ranges::size(receive), type_of<S>, op);
  }
  template <Input S, Output R>
  requires Pair<S, R>
  [[nodiscard]] Work reduce_scatter_async(S&& send, R&& receive, Op op) {
    require("reduce_scatter", std::ranges::size(send), std::ranges::size(receive), parts(), 1);
    return reduce_scatter_async(at(send), at(receive), std::ranges::size(receive), type_of<S>, op);
  }

  template <Output R>
  [[nodiscard]] Registration register_buffer(R&& buffer) {
    const std::size_t bytes = std::ranges::size(buffer) * sizeof(*at(buffer));
    return Registration(get(), at(buffer), bytes);
  }

  // Waits for this rank's operations; no new ones are taken afterwards.
  void finalize() { detail::check(heddleCommFinalize(get())); }
  // Ends all operations, here and on the other ranks, within 2 s; a thread that waits in one gets
  // heddleAborted. Only the destructor may be called afterwards.
  void abort() { detail::check(heddleCommAbort(comm_.release())); }

 private:
  explicit Communicator(heddleComm_t comm) : comm_(comm) {
    detail::check(heddleCommUserRank(comm, &rank_));
    detail::check(heddleCommCount(comm, &size_));
  }
  static heddleConfig_t config_of(const Options& options) {
    heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
    config.settings = options.settings.empty() ? nullptr : options.settings.c_str();
    return config;
  }
  static constexpr heddleRedOp_t c(Op op) { return static_cast<heddleRedOp_t>(op); }
  template <typename R>
  static constexpr heddleDataType_t type_of = data_type<std::ranges::range_value_t<R>>;
  static auto at(auto& range) { return std::ranges::data(range); }

  // The larger side holds `parts` times as many elements as the smaller.
  static void require(const char* what, std::size_t send, std::size_t receive,
                      std::size_t send_parts, std::size_t receive_parts) {
    if (send % send_parts == 0 && receive % receive_parts == 0 &&
        send / send_parts == receive / receive_parts)
      return;
    const std::string rule = send_parts == receive_parts
                                 ? "they must be equal"
                                 : std::string(send_parts > 1 ? "send" : "receive") +
                                       " must hold " + std::to_string(send_parts * receive_parts) +
                                       " times as many, a part per rank";
    throw Error(heddleInvalidArgument, std::string(what) + ": send holds " + std::to_string(send) +
                                           " elements and receive " + std::to_string(receive) +
                                           "; " + rule);
  }
  std::size_t parts() const { return static_cast<std::size_t>(size_); }

  detail::Owner<heddleComm_t, &heddleCommDestroy> comm_;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace heddle
