// The error codes of EFA's completions (prov_errno), as rdma-core's efa_io_defs and libfabric's efa
// provider number them, and the fi_errno that goes with each.
#pragma once

#include <rdma/fi_errno.h>

namespace emulated_efa {

enum Status : int {
  kFine = 0,
  kFlushed = 1,
  kLocalKey = 5,
  kLocalLength = 6,
  kRemoteAddress = 7,
  kRemoteAbort = 8,
  kRemoteQueuePair = 9,
  kReceiverNotReady = 10,
  kRemoteLength = 11,
  kRemoteStatus = 12,
  kUnresponsive = 13,
  kUnknownPeer = 14,
  kUnreachable = 15,
};

inline int fi_errno_of(int status) {
  switch (status) {
    case kFine: return FI_SUCCESS;
    case kFlushed: return FI_ECANCELED;
    case 2:
    case 3:
    case 4:
    case kLocalKey:
    case kRemoteAddress: return FI_EINVAL;
    case kLocalLength:
    case kRemoteLength: return FI_EMSGSIZE;
    case kRemoteAbort:
    case kUnresponsive: return FI_ECONNABORTED;
    case kRemoteQueuePair:
    case kUnknownPeer: return FI_ENOTCONN;
    case kReceiverNotReady: return FI_ENORX;
    case kUnreachable: return FI_EHOSTUNREACH;
    default: return FI_EREMOTEIO;
  }
}

inline const char* text_of(int status) {
  switch (status) {
    case kFine: return "emulated: success";
    case kFlushed: return "emulated: flushed when the queue pair was destroyed";
    case 2: return "emulated: internal error of the local queue pair";
    case 3: return "emulated: unsupported operation";
    case 4: return "emulated: invalid address handle";
    case kLocalKey: return "emulated: local memory is not registered for this";
    case kLocalLength: return "emulated: local length is wrong";
    case kRemoteAddress: return "emulated: remote memory: wrong key, range or access";
    case kRemoteAbort: return "emulated: reset by the peer";
    case kRemoteQueuePair: return "emulated: the peer's queue pair is gone";
    case kReceiverNotReady: return "emulated: no receive is posted at the peer";
    case kRemoteLength: return "emulated: the peer's receive buffer is too short";
    case kRemoteStatus: return "emulated: unexpected status from the peer";
    case kUnresponsive: return "emulated: the peer does not respond, or the link is down";
    case kUnknownPeer: return "emulated: the peer does not have our address in its address vector";
    case kUnreachable: return "emulated: the peer was never reachable";
    default: return "emulated: unknown status";
  }
}

}  // namespace emulated_efa
