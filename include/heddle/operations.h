/* Heddle's operations, for heddle.h, which includes this file.
 *
 * Each call blocks until this rank's part is complete: its output is there and its input may be
 * changed. Each has an ...Async form that returns at once with a work to wait for. Inside a group
 * (heddleGroupStart) calls only note what is to be done. Send and receive buffers are either the
 * in-place pair that the comment names or do not overlap. Counts are elements. `stream` must be
 * NULL for host buffers.
 *
 * Errors: heddleInvalidArgument, naming the argument, and heddleInvalidUsage (a finalized
 * communicator, an ...Async call in a group) come before anything moves and leave the communicator
 * as it was. heddleRemoteError, heddleTimeout, heddleSystemError and heddleInternalError of an
 * operation that has begun end the communicator on every rank, and so does heddleInvalidUsage where
 * ranks call different operations and HEDDLE_CHECK is set: later calls return the same error.
 *
 * A call that fails gives the buffers back too. It waits half a second for adapters that still read
 * them; when one does after that, because another rank takes nothing of what it has been handed, a
 * warning says so, and the buffers are in use until heddleCommAbort or heddleCommDestroy, which
 * wait likewise, has returned without that warning.
 */
#ifndef HEDDLE_OPERATIONS_H_
#define HEDDLE_OPERATIONS_H_

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

/* receive[i] = op over ranks of send[i], i < count. In place: send == receive. */
HEDDLE_API heddleResult_t heddleAllReduce(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleRedOp_t op,
                                          heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleAllReduceAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleRedOp_t op,
                                               heddleComm_t comm, heddleStream_t stream,
                                               heddleWork_t* work);
/* receive[r * count + i] = rank r's send[i], i < count.
 * In place: send == receive + rank * count. */
HEDDLE_API heddleResult_t heddleAllGather(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, heddleComm_t comm,
                                          heddleStream_t stream);
HEDDLE_API heddleResult_t heddleAllGatherAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work);
/* receive[i] = op over ranks of send[rank * count + i], i < count; send holds nranks * count.
 * In place: receive == send + rank * count. */
HEDDLE_API heddleResult_t heddleReduceScatter(const void* send, void* receive, size_t count,
                                              heddleDataType_t type, heddleRedOp_t op,
                                              heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleReduceScatterAsync(const void* send, void* receive, size_t count,
                                                   heddleDataType_t type, heddleRedOp_t op,
                                                   heddleComm_t comm, heddleStream_t stream,
                                                   heddleWork_t* work);
/* receive[i] = the root's send[i], i < count. `send` is read on the root alone and may be NULL
 * elsewhere. In place: send == receive. */
HEDDLE_API heddleResult_t heddleBroadcast(const void* send, void* receive, size_t count,
                                          heddleDataType_t type, int root, heddleComm_t comm,
                                          heddleStream_t stream);
HEDDLE_API heddleResult_t heddleBroadcastAsync(const void* send, void* receive, size_t count,
                                               heddleDataType_t type, int root, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work);
/* On the root: receive[i] = op over ranks of send[i], i < count. `receive` is written there alone
 * and may be NULL elsewhere. In place: send == receive. */
HEDDLE_API heddleResult_t heddleReduce(const void* send, void* receive, size_t count,
                                       heddleDataType_t type, heddleRedOp_t op, int root,
                                       heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleReduceAsync(const void* send, void* receive, size_t count,
                                            heddleDataType_t type, heddleRedOp_t op, int root,
                                            heddleComm_t comm, heddleStream_t stream,
                                            heddleWork_t* work);
/* On the root: receive[r * count + i] = rank r's send[i], i < count; `receive` may be NULL
 * elsewhere. In place on the root: send == receive + root * count. */
HEDDLE_API heddleResult_t heddleGather(const void* send, void* receive, size_t count,
                                       heddleDataType_t type, int root, heddleComm_t comm,
                                       heddleStream_t stream);
HEDDLE_API heddleResult_t heddleGatherAsync(const void* send, void* receive, size_t count,
                                            heddleDataType_t type, int root, heddleComm_t comm,
                                            heddleStream_t stream, heddleWork_t* work);
/* receive[i] = the root's send[rank * count + i], i < count; `send` may be NULL on other ranks. In
 * place on the root: receive == send + root * count. */
HEDDLE_API heddleResult_t heddleScatter(const void* send, void* receive, size_t count,
                                        heddleDataType_t type, int root, heddleComm_t comm,
                                        heddleStream_t stream);
HEDDLE_API heddleResult_t heddleScatterAsync(const void* send, void* receive, size_t count,
                                             heddleDataType_t type, int root, heddleComm_t comm,
                                             heddleStream_t stream, heddleWork_t* work);
/* receive[r * count + i] = rank r's send[rank * count + i], i < count; both hold nranks * count.
 * There is no in-place form. */
HEDDLE_API heddleResult_t heddleAlltoAll(const void* send, void* receive, size_t count,
                                         heddleDataType_t type, heddleComm_t comm,
                                         heddleStream_t stream);
HEDDLE_API heddleResult_t heddleAlltoAllAsync(const void* send, void* receive, size_t count,
                                              heddleDataType_t type, heddleComm_t comm,
                                              heddleStream_t stream, heddleWork_t* work);
/* Returns when every rank has called it. */
HEDDLE_API heddleResult_t heddleBarrier(heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleBarrierAsync(heddleComm_t comm, heddleStream_t stream,
                                             heddleWork_t* work);

/* Blocks of different lengths. Arrays have nranks entries, are read before the call returns, and
 * those of counts are the same on every rank unless the comment says otherwise; displacements are
 * elements from the start of the buffer, each rank's own, and NULL for blocks one after another. A
 * length that two ranks see differently is heddleRemoteError naming both where their data meets. */

/* receive[displacements[r] + i] = rank r's send[i], i < counts[r].
 * In place: send == receive + displacements[rank]. */
HEDDLE_API heddleResult_t heddleAllGatherv(const void* send, void* receive, const size_t* counts,
                                           const size_t* displacements, heddleDataType_t type,
                                           heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleAllGathervAsync(const void* send, void* receive,
                                                const size_t* counts, const size_t* displacements,
                                                heddleDataType_t type, heddleComm_t comm,
                                                heddleStream_t stream, heddleWork_t* work);
/* receive[i] = op over ranks of send[d + i], i < counts[rank], where d = counts[0] + ... +
 * counts[rank - 1]. In place: receive == send + d. */
HEDDLE_API heddleResult_t heddleReduceScatterv(const void* send, void* receive,
                                               const size_t* counts, heddleDataType_t type,
                                               heddleRedOp_t op, heddleComm_t comm,
                                               heddleStream_t stream);
HEDDLE_API heddleResult_t heddleReduceScattervAsync(const void* send, void* receive,
                                                    const size_t* counts, heddleDataType_t type,
                                                    heddleRedOp_t op, heddleComm_t comm,
                                                    heddleStream_t stream, heddleWork_t* work);
/* receive[receive_displacements[r] + i] = rank r's send[send_displacements[rank] + i], i <
 * receive_counts[r], which must be rank r's send_counts[rank]. */
HEDDLE_API heddleResult_t heddleAlltoAllv(const void* send, const size_t* send_counts,
                                          const size_t* send_displacements, void* receive,
                                          const size_t* receive_counts,
                                          const size_t* receive_displacements,
                                          heddleDataType_t type, heddleComm_t comm,
                                          heddleStream_t stream);
HEDDLE_API heddleResult_t heddleAlltoAllvAsync(const void* send, const size_t* send_counts,
                                               const size_t* send_displacements, void* receive,
                                               const size_t* receive_counts,
                                               const size_t* receive_displacements,
                                               heddleDataType_t type, heddleComm_t comm,
                                               heddleStream_t stream, heddleWork_t* work);

/* One rank to one rank. The k-th send of a rank to another is met by the k-th receive there from
 * it; the counts and sizes of types must agree (else heddleRemoteError naming both ranks). A send
 * may wait for its receive, and one that has returned may not have been received yet: where two
 * ranks send to each other, use a group. */
HEDDLE_API heddleResult_t heddleSend(const void* send, size_t count, heddleDataType_t type,
                                     int peer, heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleSendAsync(const void* send, size_t count, heddleDataType_t type,
                                          int peer, heddleComm_t comm, heddleStream_t stream,
                                          heddleWork_t* work);
HEDDLE_API heddleResult_t heddleRecv(void* receive, size_t count, heddleDataType_t type, int peer,
                                     heddleComm_t comm, heddleStream_t stream);
HEDDLE_API heddleResult_t heddleRecvAsync(void* receive, size_t count, heddleDataType_t type,
                                          int peer, heddleComm_t comm, heddleStream_t stream,
                                          heddleWork_t* work);

/* Groups, of the calling thread. The calls between start and end (not the ...Async forms) run at
 * the end: on each communicator all sends and receives together and at once, so that they never
 * wait for each other, at the place of the first of them; everything else in order. Groups nest;
 * the outermost end counts. A call that fails spoils the group: its end does nothing and fails too.
 */
HEDDLE_API heddleResult_t heddleGroupStart(void);
/* Blocks until all is complete, like the calls themselves. */
HEDDLE_API heddleResult_t heddleGroupEnd(void);
/* Returns at once with one work for everything; the calls must be of one communicator. An empty
 * group, or the end of an inner group, gives NULL. The group is over also when this fails, a NULL
 * `work` included: then nothing of it is done. */
HEDDLE_API heddleResult_t heddleGroupEndAsync(heddleWork_t* work);

/* Waits at most timeout_ms milliseconds (negative: as long as HEDDLE_TIMEOUT allows). Returns
 * heddleInProgress when the time is over and the work goes on; otherwise the work's result. Any
 * thread may wait and test, several at once and after the communicator has ended. */
HEDDLE_API heddleResult_t heddleWorkWait(heddleWork_t work, long timeout_ms);
/* The work's result, or heddleInProgress; never blocks. */
HEDDLE_API heddleResult_t heddleWorkTest(heddleWork_t work);
/* Frees the handle, in which no other thread may wait or test; the operation itself goes on if it
 * has not finished. */
HEDDLE_API heddleResult_t heddleWorkFree(heddleWork_t work);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_OPERATIONS_H_ */
