// Version 6 of the interface (NCCL 2.13 to 2.18 at best): adds DMA-BUF. Exported as
// ncclNetPlugin_v6.
#pragma once

#include "nccl-net-ofi/abi/net_v5.hpp"

namespace heddle::nccl_abi {

using PropertiesV6 = PropertiesV5;

struct NetV6 {
  const char* name;
  Result (*init)(Logger logger);
  Result (*devices)(int* count);
  Result (*getProperties)(int device, PropertiesV6* properties);
  Result (*listen)(int device, void* handle, void** listen_comm);
  Result (*connect)(int device, void* handle, void** send_comm);
  Result (*accept)(void* listen_comm, void** receive_comm);
  Result (*regMr)(void* comm, void* data, int bytes, int type, void** memory);
  // `dmabuf` is a file descriptor that the caller closes when the call is over.
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
};
static_assert(sizeof(NetV6) == 136);
static_assert(offsetof(NetV6, regMrDmaBuf) == 64);
static_assert(offsetof(NetV6, closeListen) == 128);

}  // namespace heddle::nccl_abi
