// Version 7 of the interface (NCCL 2.19): adds device handles. Exported as ncclNetPlugin_v7.
#pragma once

#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_abi {

struct PropertiesV7 {  // members that are explained nowhere are those of PropertiesV5
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  NetDeviceType netDeviceType;
  int netDeviceVersion;
};
static_assert(sizeof(PropertiesV7) == 56);
static_assert(offsetof(PropertiesV7, netDeviceType) == 48);

struct NetV7 {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV7* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm, DevHandle** send_device);
  Result (*accept)(void* listen_comm, void** receive_comm, DevHandle** receive_device);
  Result (*regMr)(void* comm, void* data, int bytes, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                        int dmabuf, void** memory);
  Result (*deregMr)(void* comm, void* memory);
  Result (*isend)(void* send_comm, void* data, int bytes, int tag, void* memory, void** request);
  Result (*irecv)(void* receive_comm, int count, void** data, int* bytes, int* tags,
                  void** memories, void** request);
  Result (*iflush)(void* receive_comm, int count, void** data, int* bytes, void** memories,
                   void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Result (*closeSend)(void* send_comm);
  Result (*closeRecv)(void* receive_comm);
  Result (*closeListen)(void* listen_comm);
  // Both may be null.
  Result (*getDeviceMr)(void* comm, void* memory, void** device_memory);
  Result (*irecvConsumed)(void* receive_comm, int count, void* request);
};
static_assert(sizeof(NetV7) == 152);
static_assert(offsetof(NetV7, regMr) == 56);
static_assert(offsetof(NetV7, getDeviceMr) == 136);

}  // namespace heddle::nccl_abi
