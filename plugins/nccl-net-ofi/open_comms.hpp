// The comms, listeners and registrations that NCCL holds, behind handles.hpp's numbers.
//
// Thread rule: any thread; who closes something is the only one that uses it, as NCCL promises. All
// fail with heddleInternalError for a handle that is not what it should be.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "nccl-net-ofi/handles.hpp"

namespace heddle::nccl_net {

struct OpenListener {
  std::shared_ptr<Endpoint> endpoint;  // outlives the listener
  std::unique_ptr<Listener> listener;
  int most_grouped = 1;
};

struct Registration {
  const void* owner;  // the comm's handle
  const std::byte* data;
  std::size_t bytes;
  Memory* memory;
};

// One of both ways is there.
struct OpenComm {
  ~OpenComm();  // with what is still registered

  Comm& comm() { return sender ? static_cast<Comm&>(*sender) : *receiver; }

  std::shared_ptr<Endpoint> endpoint;  // outlives the comm
  std::unique_ptr<SendComm> sender;
  std::unique_ptr<ReceiveComm> receiver;
  int most_grouped = 1;
  // Held from looking up a registration until what uses it is under way, so that none is taken back
  // in between.
  std::mutex mutex;
  std::vector<void*> registrations;  // handles; under the mutex
};

void* keep(std::unique_ptr<OpenListener> listener);
void* keep(std::unique_ptr<OpenComm> comm);

OpenListener& listener_of(void* handle);
OpenComm& comm_of(void* handle, HandleKind kind);
// Of either kind.
OpenComm& comm_of(void* handle);
// To be dropped by the caller; the handle is dead.
std::unique_ptr<OpenListener> take_listener(void* handle);
std::unique_ptr<OpenComm> take_comm(void* handle, HandleKind kind);

// Registers with the comm's adapters; the handle of the registration.
void* register_with(void* comm, void* data, std::size_t bytes, const MemoryKind& kind);
// Fails also when it is registered with another comm.
void deregister_from(void* comm, void* memory);
// The registration that holds the bytes. Nothing needs to be registered to send or receive nothing:
// null. Fails when they are not in it, or it is another comm's. Under the comm's mutex.
Memory* memory_for(const void* comm, const void* memory, const void* data, std::size_t bytes);

// Fails with heddleInternalError for null.
inline void require(const void* pointer, std::string_view what) {
  if (pointer == nullptr) base::fail(heddleInternalError, "{} is a null pointer", what);
}

}  // namespace heddle::nccl_net
