#include "nccl-net-ofi/open_comms.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace heddle::nccl_net {

namespace {

// Never destroyed: NCCL's threads may be here while the process ends.
HandleTable& table() {
  static HandleTable* const handles = new HandleTable;
  return *handles;
}

std::unique_ptr<Registration> take_registration(void* handle) {
  return std::unique_ptr<Registration>(
      static_cast<Registration*>(table().remove(handle, HandleKind::memory)));
}

const Registration& registration_of(const void* handle) {
  return *static_cast<const Registration*>(table().find(handle, HandleKind::memory));
}

[[noreturn]] void refuse_range(const Registration& known, const std::byte* data,
                               std::size_t bytes) {
  base::fail(heddleInternalError, "{} bytes at {} are not in what was registered: {} bytes at {}",
             bytes, static_cast<const void*>(data), known.bytes,
             static_cast<const void*>(known.data));
}

}  // namespace

OpenComm::~OpenComm() {
  for (void* const handle : registrations) try {
      comm().deregister(take_registration(handle)->memory);
    } catch (const base::Error& error) {
      base::log_warn("NET/OFI a comm that is closed: {}", error.what());
    }
}

void* keep(std::unique_ptr<OpenListener> listener) {
  void* const handle = table().add(HandleKind::listener, listener.get());
  static_cast<void>(listener.release());  // the table's until it is taken
  return handle;
}

void* keep(std::unique_ptr<OpenComm> comm) {
  const HandleKind kind = comm->sender ? HandleKind::send_comm : HandleKind::receive_comm;
  void* const handle = table().add(kind, comm.get());
  static_cast<void>(comm.release());
  return handle;
}

OpenListener& listener_of(void* handle) {
  return *static_cast<OpenListener*>(table().find(handle, HandleKind::listener));
}

OpenComm& comm_of(void* handle, HandleKind kind) {
  return *static_cast<OpenComm*>(table().find(handle, kind));
}

OpenComm& comm_of(void* handle) {
  const bool sends = table().is(handle, HandleKind::send_comm);
  return comm_of(handle, sends ? HandleKind::send_comm : HandleKind::receive_comm);
}

std::unique_ptr<OpenListener> take_listener(void* handle) {
  return std::unique_ptr<OpenListener>(
      static_cast<OpenListener*>(table().remove(handle, HandleKind::listener)));
}

std::unique_ptr<OpenComm> take_comm(void* handle, HandleKind kind) {
  return std::unique_ptr<OpenComm>(static_cast<OpenComm*>(table().remove(handle, kind)));
}

void* register_with(void* comm, void* data, std::size_t bytes, const MemoryKind& kind) {
  OpenComm& open = comm_of(comm);
  require(data, "the memory to register");
  if (bytes == 0) base::fail(heddleInternalError, "memory of 0 bytes at {} to register", data);
  auto known = std::make_unique<Registration>(
      Registration{comm, static_cast<const std::byte*>(data), bytes, nullptr});
  // Takes long for long memory, which is no reason to hold the mutex.
  known->memory = open.comm().register_memory(data, bytes, kind);
  const std::lock_guard lock(open.mutex);
  open.registrations.reserve(open.registrations.size() + 1);
  void* const handle = table().add(HandleKind::memory, known.get());
  open.registrations.push_back(handle);
  static_cast<void>(known.release());
  return handle;
}

void deregister_from(void* comm, void* memory) {
  OpenComm& open = comm_of(comm);
  std::unique_ptr<Registration> known;
  {
    const std::lock_guard lock(open.mutex);
    if (registration_of(memory).owner != comm)
      base::fail(heddleInternalError, "{} is registered with another comm than {}", memory, comm);
    known = take_registration(memory);
    std::erase(open.registrations, memory);
  }
  open.comm().deregister(known->memory);
}

Memory* memory_for(const void* comm, const void* memory, const void* data, std::size_t bytes) {
  if (bytes == 0 && memory == nullptr) return nullptr;
  const Registration& known = registration_of(memory);
  if (known.owner != comm)
    base::fail(heddleInternalError, "{} is registered with another comm than {}", memory, comm);
  const auto* const first = static_cast<const std::byte*>(data);
  if (bytes != 0 && (first < known.data || bytes > known.bytes ||
                     static_cast<std::size_t>(first - known.data) > known.bytes - bytes))
    refuse_range(known, first, bytes);
  return known.memory;
}

}  // namespace heddle::nccl_net
