// The C API's operations (heddle/operations.h).
#include <memory>
#include <optional>

#include "communicator/arguments.hpp"
#include "communicator/group.hpp"
#include "communicator/handles.hpp"

using heddle::base::Collective;
using heddle::base::fail;
using heddle::communicator::Arguments;
using heddle::communicator::Call;
using heddle::communicator::Communicator;
using heddle::communicator::guarded;
using heddle::communicator::Operation;
using heddle::communicator::Place;
using heddle::communicator::PreScaledSums;
using heddle::communicator::refuse_forked_child;
using heddle::communicator::required;
using heddle::communicator::thread_error;
using heddle::communicator::UnevenArguments;
using heddle::communicator::usable;
using heddle::executor::Direction;

namespace {

void spoil_if_failed(heddleResult_t result) {
  if (result != heddleSuccess && heddle::communicator::in_group())
    heddle::communicator::spoil_group(thread_error());
}

// Runs the call that `make(communicator, its place)` gives, or notes it for the end of the group.
template <typename Make>
heddleResult_t run(heddleComm_t comm, Make&& make) {
  const heddleResult_t result = guarded([&] {
    auto communicator = usable(comm);
    Call call = make(*communicator, Place{communicator->rank(), communicator->ranks()});
    if (heddle::communicator::in_group()) {
      heddle::communicator::add_to_group(std::move(communicator), std::move(call));
    } else {
      check_transfers_to_self(call.transfers, communicator->rank());
      communicator->run(std::move(call));
    }
  });
  spoil_if_failed(result);
  return result;
}

void give_work(heddleWork_t* work, std::shared_ptr<Communicator> communicator,
               std::shared_ptr<Operation> operation) {
  *work = new heddleWork{std::move(communicator), std::move(operation)};
}

template <typename Make>
heddleResult_t start(heddleComm_t comm, heddleWork_t* work, Make&& make) {
  const heddleResult_t result = guarded([&] {
    const auto communicator = usable(comm);
    required(work, "work");
    *work = nullptr;
    if (heddle::communicator::in_group())
      fail(
          heddleInvalidUsage,
          "an ...Async call inside a group: use the plain one, and heddleGroupEndAsync for a work");
    Call call = make(*communicator, Place{communicator->rank(), communicator->ranks()});
    check_transfers_to_self(call.transfers, communicator->rank());
    give_work(work, communicator, communicator->start(std::move(call)));
  });
  spoil_if_failed(result);
  return result;
}

// A pre-scaled sum is a sum with the scalar that this communicator keeps for it: makes `op` that
// sum, and returns the scalar.
std::optional<PreScaledSums::Sum> take_scale(Communicator& communicator, heddleDataType_t type,
                                             heddleRedOp_t& op) {
  if (static_cast<int>(op) < heddleNumOps) return std::nullopt;
  const auto sum = communicator.sums().find(op);
  if (sum.type != type)
    fail(heddleInvalidArgument, "data type is {}: this pre-scaled sum was made for {}",
         heddle::base::name_of(type), heddle::base::name_of(sum.type));
  op = heddleSum;
  return sum;
}

// `check` is checked_call or checked_uneven_call.
template <typename Check, typename Passed>
auto collective_call(Check* check, Collective collective, const Passed& passed) {
  return [=](Communicator& communicator, const Place& place) {
    Passed arguments = passed;
    std::optional<PreScaledSums::Sum> sum;
    if (heddle::base::reduces(collective))
      sum = take_scale(communicator, arguments.type, arguments.op);
    Call call = check(collective, arguments, place);
    call.scaled = sum.has_value();
    if (sum) call.scale = sum->scale;
    return call;
  };
}
auto even(Collective collective, const Arguments& arguments) {
  return collective_call(heddle::communicator::checked_call, collective, arguments);
}
auto uneven(Collective collective, const UnevenArguments& arguments) {
  return collective_call(heddle::communicator::checked_uneven_call, collective, arguments);
}

auto transfer(Direction direction, const void* buffer, size_t count, heddleDataType_t type,
              int peer, heddleStream_t stream) {
  return [=](Communicator&, const Place& place) {
    return heddle::communicator::checked_transfer(direction, buffer, count, type, peer, stream,
                                                  place);
  };
}

auto barrier(heddleStream_t stream) {
  return [=](Communicator&, const Place&) { return heddle::communicator::barrier_call(stream); };
}

heddleResult_t result_of(const Operation& operation) {
  const heddleResult_t result = operation.result();
  if (result != heddleSuccess && result != heddleInProgress) thread_error() = operation.error();
  return result;
}

}  // namespace

extern "C" {

HEDDLE_API heddleResult_t heddleAllReduce(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleRedOp_t op,
                                          heddleComm_t comm, heddleStream_t stream) {
  return run(comm, even(Collective::all_reduce, {send, receive, count, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleAllReduceAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleRedOp_t op,
                                               heddleComm_t comm, heddleStream_t stream,
                                               heddleWork_t* work) {
  return start(comm, work, even(Collective::all_reduce, {send, receive, count, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleAllGather(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleComm_t comm,
                                          heddleStream_t stream) {
  return run(comm, even(Collective::all_gather, {send, receive, count, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleAllGatherAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               even(Collective::all_gather, {send, receive, count, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleReduceScatter(const void* send, void* receive, size_t count,
                                              heddleDataType_t type, heddleRedOp_t op,
                                              heddleComm_t comm, heddleStream_t stream) {
  return run(comm, even(Collective::reduce_scatter, {send, receive, count, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleReduceScatterAsync(const void* send, void* receive, size_t count,
                                                   heddleDataType_t type, heddleRedOp_t op,
                                                   heddleComm_t comm, heddleStream_t stream,
                                                   heddleWork_t* work) {
  return start(comm, work,
               even(Collective::reduce_scatter, {send, receive, count, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleBroadcast(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, int root, heddleComm_t comm,
                                          heddleStream_t stream) {
  return run(comm,
             even(Collective::broadcast, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleBroadcastAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, int root, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               even(Collective::broadcast, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleReduce(const void* send, void* receive, size_t count,
                                       heddleDataType_t type, heddleRedOp_t op, int root,
                                       heddleComm_t comm, heddleStream_t stream) {
  return run(comm, even(Collective::reduce, {send, receive, count, type, op, stream, root}));
}

HEDDLE_API heddleResult_t heddleReduceAsync(const void* send, void* receive, size_t count,
                                            heddleDataType_t type, heddleRedOp_t op, int root,
                                            heddleComm_t comm, heddleStream_t stream,
                                            heddleWork_t* work) {
  return start(comm, work,
               even(Collective::reduce, {send, receive, count, type, op, stream, root}));
}

HEDDLE_API heddleResult_t heddleGather(const void* send, void* receive, size_t count,
                                       heddleDataType_t type, int root, heddleComm_t comm,
                                       heddleStream_t stream) {
  return run(comm, even(Collective::gather, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleGatherAsync(const void* send, void* receive, size_t count,
                                            heddleDataType_t type, int root, heddleComm_t comm,
                                            heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               even(Collective::gather, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleScatter(const void* send, void* receive, size_t count,
                                        heddleDataType_t type, int root, heddleComm_t comm,
                                        heddleStream_t stream) {
  return run(comm,
             even(Collective::scatter, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleScatterAsync(const void* send, void* receive, size_t count,
                                             heddleDataType_t type, int root, heddleComm_t comm,
                                             heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               even(Collective::scatter, {send, receive, count, type, heddleSum, stream, root}));
}

HEDDLE_API heddleResult_t heddleAlltoAll(const void* send, void* receive, size_t count,
                                         heddleDataType_t type, heddleComm_t comm,
                                         heddleStream_t stream) {
  return run(comm, even(Collective::all_to_all, {send, receive, count, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleAlltoAllAsync(const void* send, void* receive, size_t count,
                                              heddleDataType_t type, heddleComm_t comm,
                                              heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               even(Collective::all_to_all, {send, receive, count, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleBarrier(heddleComm_t comm, heddleStream_t stream) {
  return run(comm, barrier(stream));
}

HEDDLE_API heddleResult_t heddleBarrierAsync(heddleComm_t comm, heddleStream_t stream,
                                             heddleWork_t* work) {
  return start(comm, work, barrier(stream));
}

HEDDLE_API heddleResult_t heddleAllGatherv(const void* send, void* receive, const size_t* counts,
                                           const size_t* displacements, heddleDataType_t type,
                                           heddleComm_t comm, heddleStream_t stream) {
  return run(
      comm,
      uneven(
          Collective::all_gather,
          {{send, nullptr, nullptr}, {receive, counts, displacements}, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleAllGathervAsync(const void* send, void* receive,
                                                const size_t* counts, const size_t* displacements,
                                                heddleDataType_t type, heddleComm_t comm,
                                                heddleStream_t stream, heddleWork_t* work) {
  return start(
      comm, work,
      uneven(
          Collective::all_gather,
          {{send, nullptr, nullptr}, {receive, counts, displacements}, type, heddleSum, stream}));
}

HEDDLE_API heddleResult_t heddleReduceScatterv(const void* send, void* receive,
                                               const size_t* counts, heddleDataType_t type,
                                               heddleRedOp_t op, heddleComm_t comm,
                                               heddleStream_t stream) {
  return run(comm,
             uneven(Collective::reduce_scatter,
                    {{send, counts, nullptr}, {receive, nullptr, nullptr}, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleReduceScattervAsync(const void* send, void* receive,
                                                    const size_t* counts, heddleDataType_t type,
                                                    heddleRedOp_t op, heddleComm_t comm,
                                                    heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               uneven(Collective::reduce_scatter,
                      {{send, counts, nullptr}, {receive, nullptr, nullptr}, type, op, stream}));
}

HEDDLE_API heddleResult_t heddleAlltoAllv(const void* send, const size_t* send_counts,
                                          const size_t* send_displacements, void* receive,
                                          const size_t* receive_counts,
                                          const size_t* receive_displacements,
                                          heddleDataType_t type, heddleComm_t comm,
                                          heddleStream_t stream) {
  return run(comm, uneven(Collective::all_to_all, {{send, send_counts, send_displacements},
                                                   {receive, receive_counts, receive_displacements},
                                                   type,
                                                   heddleSum,
                                                   stream}));
}

HEDDLE_API heddleResult_t heddleAlltoAllvAsync(const void* send, const size_t* send_counts,
                                               const size_t* send_displacements, void* receive,
                                               const size_t* receive_counts,
                                               const size_t* receive_displacements,
                                               heddleDataType_t type, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work) {
  return start(comm, work,
               uneven(Collective::all_to_all, {{send, send_counts, send_displacements},
                                               {receive, receive_counts, receive_displacements},
                                               type,
                                               heddleSum,
                                               stream}));
}

HEDDLE_API heddleResult_t heddleSend(const void* send, size_t count, heddleDataType_t type,
                                     int peer, heddleComm_t comm, heddleStream_t stream) {
  return run(comm, transfer(Direction::send, send, count, type, peer, stream));
}

HEDDLE_API heddleResult_t heddleSendAsync(const void* send, size_t count, heddleDataType_t type,
                                          int peer, heddleComm_t comm, heddleStream_t stream,
                                          heddleWork_t* work) {
  return start(comm, work, transfer(Direction::send, send, count, type, peer, stream));
}

HEDDLE_API heddleResult_t heddleRecv(void* receive, size_t count, heddleDataType_t type, int peer,
                                     heddleComm_t comm, heddleStream_t stream) {
  return run(comm, transfer(Direction::receive, receive, count, type, peer, stream));
}

HEDDLE_API heddleResult_t heddleRecvAsync(void* receive, size_t count, heddleDataType_t type,
                                          int peer, heddleComm_t comm, heddleStream_t stream,
                                          heddleWork_t* work) {
  return start(comm, work, transfer(Direction::receive, receive, count, type, peer, stream));
}

HEDDLE_API heddleResult_t heddleGroupStart(void) {
  return guarded([] { heddle::communicator::start_group(); });
}

HEDDLE_API heddleResult_t heddleGroupEnd(void) {
  return guarded([] { heddle::communicator::end_group(); });
}

HEDDLE_API heddleResult_t heddleGroupEndAsync(heddleWork_t* work) {
  return guarded([&] {
    if (work == nullptr) heddle::communicator::discard_group("heddleGroupEndAsync: work is NULL");
    required(work, "work") = nullptr;
    auto [communicator, operation] = heddle::communicator::end_group_async();
    if (operation) give_work(work, std::move(communicator), std::move(operation));
  });
}

HEDDLE_API heddleResult_t heddleWorkWait(heddleWork_t work, long timeout_ms) {
  heddleResult_t result = heddleInProgress;
  const heddleResult_t guard = guarded([&] {
    refuse_forked_child();
    const heddleWork& handle = required(work, "work");
    const auto time = heddle::base::Seconds(static_cast<double>(timeout_ms) / 1000);
    handle.communicator->wait(*handle.operation, time);
    result = result_of(*handle.operation);
  });
  return guard != heddleSuccess ? guard : result;
}

HEDDLE_API heddleResult_t heddleWorkTest(heddleWork_t work) {
  heddleResult_t result = heddleInProgress;
  const heddleResult_t guard = guarded([&] {
    refuse_forked_child();
    const heddleWork& handle = required(work, "work");
    if (!handle.operation->finished()) handle.communicator->take_turn();
    result = result_of(*handle.operation);
  });
  return guard != heddleSuccess ? guard : result;
}

HEDDLE_API heddleResult_t heddleWorkFree(heddleWork_t work) {
  return guarded([&] {
    refuse_forked_child();
    required(work, "work");
    delete work;
  });
}

}  // extern "C"
