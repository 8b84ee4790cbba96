// Version 9 of the interface (NCCL 2.24 and 2.25): messages of any size, virtual devices. Exported
// as ncclNetPlugin_v9.
#pragma once

#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_abi {

struct PropertiesV9 {  // members that are explained nowhere are those of PropertiesV8
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;  // whether received data must be flushed to GPUs that do so by themselves
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  NetDeviceType netDeviceType;
  int netDeviceVersion;
  VDevicePropsV9 vProps;
  std::size_t maxP2pBytes;  // of one message; NCCL refuses 0 and more than kMostMessageBytes
  std::size_t maxCollBytes;
};
static_assert(sizeof(PropertiesV9) == 104);
static_assert(offsetof(PropertiesV9, speed) == 36);
static_assert(offsetof(PropertiesV9, vProps) == 64);
static_assert(offsetof(PropertiesV9, maxP2pBytes) == 88);

struct NetV9 {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV9* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, DevHandle** send_device);
  Result (*accept)(void* listen_comm, void** receive_comm, DevHandle** receive_device);
  Result (*regMr)(void* comm, void* data, std::size_t bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                        int dmabuf, void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* send_comm, void* data, std::size_t bytes, int tag, void* memory,
                  void** request);
  Result (*irecv)(void* receive_comm, int count, void** data, std::size_t* bytes, int* tags,
                  void** memories, void** request);
  Result (*iflush)(void* receive_comm, int count, void** data, int* bytes, void** memories,
                   void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* send_comm);
  Result (*closeRecv)(void* receive_comm);
  Result (*closeListen)(void* listen_comm);
  // The three may be null.
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* receive_comm, int count, void* request);
  Result (*makeVDevice)(int* device, VDevicePropsV9* members);
};
static_assert(sizeof(NetV9) == 160);
static_assert(offsetof(NetV9, makeVDevice) == 152);

}  // namespace heddle::nccl_abi
