// Version 5 of the interface (NCCL 2.12): host and CUDA pointers, sizes are int, no DMA-BUF.
// Exported as ncclNetPlugin_v5.
#pragma once

#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::nccl_abi {

struct PropertiesV5 {
  char* name;          // unique among the devices; lives as long as the plugin
  char* pciPath;       // its folder in /sys; may be null
  std::uint64_t guid;  // devices with the same one share a port
  int ptrSupport;      // kPointer... bits
  int speed;           // megabits per second; 0 or less counts as 10000
  int port;            // of the adapter, from 1
  float latency;       // microseconds; 0: NCCL's own idea
  int maxComms;        // that can exist
  int maxRecvs;        // buffers of one receive
};
static_assert(sizeof(PropertiesV5) == 48);
static_assert(offsetof(PropertiesV5, ptrSupport) == 24);
static_assert(offsetof(PropertiesV5, latency) == 36);
static_assert(offsetof(PropertiesV5, maxRecvs) == 44);

struct NetV5 {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV5* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm);
  Result (*accept)(void* listen_comm, void** receive_comm);
  Result (*regMr)(void* comm, void* data, int bytes, int type, void** memory);
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
};
static_assert(sizeof(NetV5) == 16 * sizeof(void*));
static_assert(offsetof(NetV5, deregMr) == 8 * sizeof(void*));

}  // namespace heddle::nccl_abi
