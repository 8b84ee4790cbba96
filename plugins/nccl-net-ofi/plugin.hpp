// The one implementation behind all versions of NCCL's interface. What a version has otherwise
// (narrower sizes, other properties, other arguments of init and connect) versions/ translates.
//
// Every call returns NCCL's result, throws nothing and logs its failure. Handles that are null, of
// another kind or closed are internal_error, a misuse is invalid_usage, a peer that is lost or does
// not answer remote_error, what the system or libfabric refuses system_error. In a process that was
// forked after init every call is invalid_usage.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nccl-net-ofi/abi/common.hpp"
#include "nccl-net-ofi/devices.hpp"

namespace heddle::nccl_net::plugin {

using nccl_abi::Result;

// Versions before 11: once a process.
Result init(nccl_abi::Logger logger) noexcept;
// From version 11: once a communicator. A failure leaves null in `context`.
Result init_context(void** context, nccl_abi::Logger logger) noexcept;
// Whatever is no live context, null too, is left alone: success.
Result finalize(void* context) noexcept;

// Of the devices that were found; the number does not change before the last finalize.
Result devices(int* count) noexcept;
// A found device, or one that make_virtual_device made.
Result properties(int device, Device* properties) noexcept;
Result make_virtual_device(int* device, std::span<const int> members) noexcept;

// `handle` has nccl_abi::kHandleBytes.
Result listen(int device, void* handle, void** listen_comm) noexcept;
// Success with null in the comm: not there yet, call again with the same handle.
Result connect(int device, void* handle, void** send_comm) noexcept;
Result accept(void* listen_comm, void** receive_comm) noexcept;
// Null is closed already: success. What is still registered with a comm is deregistered.
Result close_send(void* send_comm) noexcept;
Result close_receive(void* receive_comm) noexcept;
Result close_listen(void* listen_comm) noexcept;

// `type` is kPointerHost or kPointerCuda.
Result register_memory(void* comm, void* data, std::size_t bytes, int type, void** memory) noexcept;
Result register_dmabuf(void* comm, void* data, std::size_t bytes, int type, std::uint64_t offset,
                       int dmabuf, void** memory) noexcept;
Result deregister_memory(void* comm, void* memory) noexcept;

// Success with null in the request: not now, call again. What `request` pointed to before is not
// looked at: there NCCL says that it needs no completion of a receive, and gets one all the same.
Result send(void* send_comm, const void* data, std::size_t bytes, int tag, void* memory,
            void** request) noexcept;
Result receive(void* receive_comm, int count, void** data, const std::size_t* bytes,
               const int* tags, void** memories, void** request) noexcept;
// Success with null in the request: nothing to wait for.
Result flush(void* receive_comm, int count, void** data, const int* bytes, void** memories,
             void** request) noexcept;
// `bytes` (of each buffer) may be null. A request that is done or failed is dead.
Result test(void* request, int* done, int* bytes) noexcept;

}  // namespace heddle::nccl_net::plugin
