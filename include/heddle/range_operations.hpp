// The operations of a communicator on contiguous ranges (std::vector, std::span, std::array,
// HostBuffer), whose element type and size are the operation's. Sizes that do not fit are an Error
// that names them. operations.h says what "in place" means.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>

#include "heddle/element.hpp"
#include "heddle/operations.hpp"
#include "heddle/range_sizes.hpp"

namespace heddle {

// A receive buffer for the send buffer S.
template <typename R, typename S>
concept FitsSend = Pair<S, R>;

class RangeOperations : public Operations {
 public:
  using Operations::all_gather, Operations::all_gather_async, Operations::all_gather_v,
      Operations::all_gather_v_async, Operations::all_reduce, Operations::all_reduce_async,
      Operations::all_to_all, Operations::all_to_all_async, Operations::all_to_all_v,
      Operations::all_to_all_v_async, Operations::broadcast, Operations::broadcast_async,
      Operations::gather, Operations::gather_async, Operations::pre_scaled_sum, Operations::receive,
      Operations::receive_async, Operations::reduce, Operations::reduce_async,
      Operations::reduce_scatter, Operations::reduce_scatter_async, Operations::reduce_scatter_v,
      Operations::reduce_scatter_v_async, Operations::scatter, Operations::scatter_async,
      Operations::send, Operations::send_async;

  // receive[i] = op over ranks of send[i]; sizes equal. One range: in place.
  template <typename S, FitsSend<S> R>
  void all_reduce(S&& send, R&& receive, ReduceOp op) {
    all_reduce(at(send), at(receive), equal("all_reduce", send, receive), type_of<S>, op);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work all_reduce_async(S&& send, R&& receive, ReduceOp op) {
    return all_reduce_async(at(send), at(receive), equal("all_reduce", send, receive), type_of<S>,
                            op);
  }
  template <Output R>
  void all_reduce(R&& buffer, ReduceOp op) {
    all_reduce(at(buffer), at(buffer), elements(buffer), type_of<R>, op);
  }
  template <Output R>
  [[nodiscard]] Work all_reduce_async(R&& buffer, ReduceOp op) {
    return all_reduce_async(at(buffer), at(buffer), elements(buffer), type_of<R>, op);
  }

  // receive = every rank's send, by rank; receive holds size() times as much. In place: send is
  // this rank's part of receive.
  template <typename S, FitsSend<S> R>
  void all_gather(S&& send, R&& receive) {
    all_gather(at(send), at(receive), receive_parts("all_gather", send, receive), type_of<S>);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work all_gather_async(S&& send, R&& receive) {
    return all_gather_async(at(send), at(receive), receive_parts("all_gather", send, receive),
                            type_of<S>);
  }

  // receive = this rank's part of op over ranks of send; send holds size() times as much. In place:
  // receive is this rank's part of send.
  template <typename S, FitsSend<S> R>
  void reduce_scatter(S&& send, R&& receive, ReduceOp op) {
    reduce_scatter(at(send), at(receive), send_parts("reduce_scatter", send, receive), type_of<S>,
                   op);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work reduce_scatter_async(S&& send, R&& receive, ReduceOp op) {
    return reduce_scatter_async(at(send), at(receive), send_parts("reduce_scatter", send, receive),
                                type_of<S>, op);
  }

  // receive = the root's send. Elsewhere send may be empty. One range: in place.
  template <typename S, FitsSend<S> R>
  void broadcast(S&& send, R&& receive, int root) {
    broadcast(at(send), at(receive),
              rank() == root ? equal("broadcast", send, receive) : elements(receive), type_of<S>,
              root);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work broadcast_async(S&& send, R&& receive, int root) {
    return broadcast_async(at(send), at(receive),
                           rank() == root ? equal("broadcast", send, receive) : elements(receive),
                           type_of<S>, root);
  }
  template <Output R>
  void broadcast(R&& buffer, int root) {
    broadcast(at(buffer), at(buffer), elements(buffer), type_of<R>, root);
  }
  template <Output R>
  [[nodiscard]] Work broadcast_async(R&& buffer, int root) {
    return broadcast_async(at(buffer), at(buffer), elements(buffer), type_of<R>, root);
  }

  // On the root: receive[i] = op over ranks of send[i]. Elsewhere receive may be empty. One range:
  // in place.
  template <typename S, FitsSend<S> R>
  void reduce(S&& send, R&& receive, ReduceOp op, int root) {
    reduce(at(send), at(receive), rank() == root ? equal("reduce", send, receive) : elements(send),
           type_of<S>, op, root);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work reduce_async(S&& send, R&& receive, ReduceOp op, int root) {
    return reduce_async(at(send), at(receive),
                        rank() == root ? equal("reduce", send, receive) : elements(send),
                        type_of<S>, op, root);
  }
  template <Output R>
  void reduce(R&& buffer, ReduceOp op, int root) {
    reduce(at(buffer), at(buffer), elements(buffer), type_of<R>, op, root);
  }
  template <Output R>
  [[nodiscard]] Work reduce_async(R&& buffer, ReduceOp op, int root) {
    return reduce_async(at(buffer), at(buffer), elements(buffer), type_of<R>, op, root);
  }

  // On the root: receive = every rank's send, by rank. Elsewhere receive may be empty.
  template <typename S, FitsSend<S> R>
  void gather(S&& send, R&& receive, int root) {
    gather(at(send), at(receive),
           rank() == root ? receive_parts("gather", send, receive) : elements(send), type_of<S>,
           root);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work gather_async(S&& send, R&& receive, int root) {
    return gather_async(at(send), at(receive),
                        rank() == root ? receive_parts("gather", send, receive) : elements(send),
                        type_of<S>, root);
  }

  // receive = this rank's part of the root's send. Elsewhere send may be empty.
  template <typename S, FitsSend<S> R>
  void scatter(S&& send, R&& receive, int root) {
    scatter(at(send), at(receive),
            rank() == root ? send_parts("scatter", send, receive) : elements(receive), type_of<S>,
            root);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work scatter_async(S&& send, R&& receive, int root) {
    return scatter_async(at(send), at(receive),
                         rank() == root ? send_parts("scatter", send, receive) : elements(receive),
                         type_of<S>, root);
  }

  // receive's part r = this rank's part of rank r's send.
  template <typename S, FitsSend<S> R>
  void all_to_all(S&& send, R&& receive) {
    all_to_all(at(send), at(receive), both_parts("all_to_all", send, receive), type_of<S>);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work all_to_all_async(S&& send, R&& receive) {
    return all_to_all_async(at(send), at(receive), both_parts("all_to_all", send, receive),
                            type_of<S>);
  }

  // receive's block r = rank r's send.
  template <typename S, FitsSend<S> R>
  void all_gather_v(S&& send, R&& receive, const Blocks& blocks) {
    detail::fit_all_gather_v(elements(send), elements(receive), blocks, rank());
    all_gather_v(at(send), at(receive), blocks, type_of<S>);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work all_gather_v_async(S&& send, R&& receive, const Blocks& blocks) {
    detail::fit_all_gather_v(elements(send), elements(receive), blocks, rank());
    return all_gather_v_async(at(send), at(receive), blocks, type_of<S>);
  }

  // receive = this rank's block of op over ranks of send, where the blocks follow one another.
  template <typename S, FitsSend<S> R>
  void reduce_scatter_v(S&& send, R&& receive, std::span<const std::size_t> counts, ReduceOp op) {
    detail::fit_reduce_scatter_v(elements(send), elements(receive), counts, rank());
    reduce_scatter_v(at(send), at(receive), counts, type_of<S>, op);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work reduce_scatter_v_async(S&& send, R&& receive,
                                            std::span<const std::size_t> counts, ReduceOp op) {
    detail::fit_reduce_scatter_v(elements(send), elements(receive), counts, rank());
    return reduce_scatter_v_async(at(send), at(receive), counts, type_of<S>, op);
  }

  // receive's block r = this rank's block of rank r's send.
  template <typename S, FitsSend<S> R>
  void all_to_all_v(S&& send, const Blocks& sends, R&& receive, const Blocks& receives) {
    detail::require_room({"all_to_all_v", "send", elements(send)}, sends);
    detail::require_room({"all_to_all_v", "receive", elements(receive)}, receives);
    all_to_all_v(at(send), sends, at(receive), receives, type_of<S>);
  }
  template <typename S, FitsSend<S> R>
  [[nodiscard]] Work all_to_all_v_async(S&& send, const Blocks& sends, R&& receive,
                                        const Blocks& receives) {
    detail::require_room({"all_to_all_v", "send", elements(send)}, sends);
    detail::require_room({"all_to_all_v", "receive", elements(receive)}, receives);
    return all_to_all_v_async(at(send), sends, at(receive), receives, type_of<S>);
  }

  // All of the range, to or from rank `peer`.
  template <Input R>
  void send(R&& buffer, int peer) {
    send(at(buffer), elements(buffer), type_of<R>, peer);
  }
  template <Input R>
  [[nodiscard]] Work send_async(R&& buffer, int peer) {
    return send_async(at(buffer), elements(buffer), type_of<R>, peer);
  }
  template <Output R>
  void receive(R&& buffer, int peer) {
    receive(at(buffer), elements(buffer), type_of<R>, peer);
  }
  template <Output R>
  [[nodiscard]] Work receive_async(R&& buffer, int peer) {
    return receive_async(at(buffer), elements(buffer), type_of<R>, peer);
  }

  // The op that multiplies this rank's input by `scalar` before it is added.
  template <Element T>
  PreScaledSum pre_scaled_sum(const T& scalar) {
    return pre_scaled_sum(&scalar, data_type<T>);
  }

 protected:
  using Operations::Operations;

 private:
  template <typename R>
  static constexpr heddleDataType_t type_of = data_type<std::ranges::range_value_t<R>>;
  static auto at(auto& range) { return std::ranges::data(range); }
  static std::size_t elements(auto& range) { return std::ranges::size(range); }

  // The count of an operation whose buffers are equal, or of which one or both hold a part of as
  // many elements for each rank.
  static std::size_t equal(const char* what, auto& send, auto& receive) {
    return detail::count_of({what, elements(send), elements(receive)}, 1, 1);
  }
  std::size_t receive_parts(const char* what, auto& send, auto& receive) const {
    return detail::count_of({what, elements(send), elements(receive)}, 1, parts());
  }
  std::size_t send_parts(const char* what, auto& send, auto& receive) const {
    return detail::count_of({what, elements(send), elements(receive)}, parts(), 1);
  }
  std::size_t both_parts(const char* what, auto& send, auto& receive) const {
    return detail::count_of({what, elements(send), elements(receive)}, parts(), parts());
  }
};

}  // namespace heddle
