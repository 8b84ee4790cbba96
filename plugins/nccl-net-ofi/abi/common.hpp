// What all versions of NCCL's network plugin interface share: result codes, the logger, kinds of
// memory, device handles and the other small structures. In our own words, checked against NCCL
// 2.12 to 2.30; names of members and values are NCCL's, for they are the contract.
//
// The layouts are C's on x86-64 and AArch64; the assertions below each structure hold them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::nccl_abi {

// What every call returns. Where a call is "not ready", it returns success and a null pointer.
enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

enum class LogLevel : int { none = 0, version = 1, warn = 2, info = 3, abort = 4, trace = 5 };

// Bits of what a line is about, for NCCL_DEBUG_SUBSYS.
inline constexpr unsigned long kLogInit = 0x1;
inline constexpr unsigned long kLogNet = 0x10;

// As printf. `file` and `line` are of who logs; NCCL adds host, process, GPU and the end of line.
using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// Kinds of memory: bits of ptrSupport, and one of them as the type of a registration.
inline constexpr int kPointerHost = 0x1;
inline constexpr int kPointerCuda = 0x2;
inline constexpr int kPointerDmaBuf = 0x4;

inline constexpr std::size_t kHandleBytes = 128;  // what listen fills in and connect is given
inline constexpr int kMostRequests = 32;          // under way on one comm; 8 before 2.19
inline constexpr int kMostGrouped = 8;  // buffers of one receive, as NCCL's own plugin has
inline constexpr std::size_t kMostMessageBytes = std::size_t{1} << 40;  // of maxP2pBytes

// What irecv may find in *request (from version 9), a number and no address: its caller does not
// need the completion.
inline constexpr std::uintptr_t kOptionalReceiveCompletion = 0x1;

// Who drives a connection. Only `host` concerns us.
enum class NetDeviceType : int { host = 0, unpack = 1, gin_proxy = 2, gin_gdaki = 3 };
inline constexpr int kNetDeviceVersion = 0;

// For networks that GPU kernels drive. For the others NCCL passes null, or a pointer to null, for
// the place where it goes: never dereference what it points to.
struct DevHandle {
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};
static_assert(sizeof(DevHandle) == 32);
static_assert(offsetof(DevHandle, handle) == 8);

inline constexpr int kUndefined = -1;

// Of one communicator, from version 10.
struct CommConfig {
  int trafficClass;  // kUndefined: not set
};
static_assert(sizeof(CommConfig) == 4);

// A hint of what a communicator is about to do, from version 11; -1 is undefined.
struct NetFlows {
  std::int32_t maxConcurrentPeers;
  std::int32_t minConcurrentPeers;
  std::int32_t maxFlowsPerPeer;
  std::int32_t minFlowsPerPeer;
};
struct NetAttr {
  NetFlows sendCommAttr;
  NetFlows recvCommAttr;
  std::uint32_t op;  // bits; all ones is undefined, here and below
  std::uint32_t algo;
  std::uint32_t proto;
};
static_assert(sizeof(NetAttr) == 44);

// From version 10; may be null. `type`: 0 start, 1 stop, 2 update, 3 update and stop.
using ProfilerCallback = Result (*)(void** event, int type, void* parent, std::int64_t plugin_id,
                                    void* extra);

// Which devices one device consists of; a device of its own names itself.
template <int kMost>
struct VDeviceProps {
  int ndevs;
  int devs[kMost];
};
using VDevicePropsV9 = VDeviceProps<4>;
using VDevicePropsV12 = VDeviceProps<8>;
static_assert(sizeof(VDevicePropsV9) == 20);
static_assert(sizeof(VDevicePropsV12) == 36);

}  // namespace heddle::nccl_abi
