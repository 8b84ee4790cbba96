// Version 12 of the interface (NCCL 2.30): devices of up to 8 adapters, rails and planes. Exported
// as ncclNetPlugin_v12.
#pragma once

#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_abi {

struct PropertiesV12 {  // members that are explained nowhere are those of PropertiesV11
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  VDevicePropsV12 vProps;
  std::size_t maxP2pBytes;
  std::size_t maxCollBytes;
  int maxMultiRequestSize;
  // In which of several separate networks it is; -1: undefined.
  std::int16_t railId;
  std::int16_t planeId;
};
static_assert(sizeof(PropertiesV12) == 128);
static_assert(offsetof(PropertiesV12, maxP2pBytes) == 104);
static_assert(offsetof(PropertiesV12, railId) == 124);

struct NetV12 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, CommConfig* config, Logger logger,
                 ProfilerCallback profiler);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV12* properties);
  Result (*listen)(void* context, int device, void* handle, void** listen_comm);
  Result (*connect)(void* context, int device, void* handle, void** send_comm,
                    DevHandle** send_device);
  Result (*accept)(void* listen_comm, void** receive_comm, DevHandle** receive_device);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                        int dmabuf, void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* send_comm, void* data, std::size_t bytes, int tag, void* memory,
                  void* profiled, void** request);
  Result (*irecv)(void* receive_comm, int count, void** data, std::size_t* bytes, int* tags,
                  void** memories, void** profiled, void** request);
  Result (*iflush)(void* receive_comm, int count, void** data, int* bytes, void** memories,
                   void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* send_comm);
  Result (*closeRecv)(void* receive_comm);
  Result (*closeListen)(void* listen_comm);
  // The three may be null.
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* receive_comm, int count, void* request);
  Result (*makeVDevice)(int* device, VDevicePropsV12* members);
  // Never null: NCCL calls it unseen, after a failed init too, with whatever the context holds.
  Result (*finalize)(void* context);
  Result (*setNetAttr)(void* context, NetAttr* attributes);  // may be null
};
static_assert(sizeof(NetV12) == 176);
static_assert(offsetof(NetV12, listen) == 32);
static_assert(offsetof(NetV12, finalize) == 160);

}  // namespace heddle::nccl_abi
