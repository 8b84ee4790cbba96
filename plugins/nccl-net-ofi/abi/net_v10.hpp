// Version 10 of the interface (NCCL 2.26 and 2.27): configuration of a communicator, profiler.
// Exported as ncclNetPlugin_v10.
#pragma once

#include "nccl-net-ofi/abi/net_v9.hpp"

namespace heddle::nccl_abi {

using PropertiesV10 = PropertiesV9;

struct NetV10 {
  const char* name;
  Result (*init)(Logger logger, ProfilerCallback profiler);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV10* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, CommConfig* config, void* handle, void** send_comm,
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
  Result (*makeVDevice)(int* device, VDevicePropsV9* members);
};
static_assert(sizeof(NetV10) == 160);
static_assert(offsetof(NetV10, isend) == 80);

}  // namespace heddle::nccl_abi
