// The calls that are not about messages; those are in transfers.cpp.
#include "nccl-net-ofi/plugin.hpp"

#include <cstring>

#include "nccl-net-ofi/guard.hpp"
#include "nccl-net-ofi/open_comms.hpp"
#include "nccl-net-ofi/session.hpp"

namespace heddle::nccl_net::plugin {

Result init(nccl_abi::Logger logger) noexcept {
  return guarded_with(report_no_start, [&] { begin_for_good(logger); });
}

Result init_context(void** context, nccl_abi::Logger logger) noexcept {
  if (context != nullptr) *context = nullptr;
  return guarded_with(report_no_start, [&] {
    require(context, "init's context");
    *context = begin_context(logger);
  });
}

Result finalize(void* context) noexcept {
  return guarded("finalize", [&] { end_context(context); });
}

Result devices(int* count) noexcept {
  return guarded("devices", [&] {
    require(count, "where the number of devices goes");
    *count = session()->devices().found();
  });
}

Result properties(int device, Device* properties) noexcept {
  return guarded("getProperties", [&] { *properties = session()->devices().at(device); });
}

Result make_virtual_device(int* device, std::span<const int> members) noexcept {
  return guarded("makeVDevice", [&] {
    require(device, "where the number of the device goes");
    *device = session()->devices().merge(members);
  });
}

Result listen(int device, void* handle, void** listen_comm) noexcept {
  return guarded("listen", [&] {
    require(handle, "where the handle goes");
    require(listen_comm, "where the listener goes");
    *listen_comm = nullptr;
    auto open = std::make_unique<OpenListener>();
    const auto now = session();
    open->endpoint = now->endpoint(device);
    open->most_grouped = now->settings().nccl_max_recvs;
    open->listener = open->endpoint->listen();
    const auto address = open->listener->handle();
    HEDDLE_ASSERT(address.size() <= kHandleBytes, "a handle of {} bytes", address.size());
    std::memset(handle, 0, kHandleBytes);
    std::memcpy(handle, address.data(), address.size());
    *listen_comm = keep(std::move(open));
  });
}

Result connect(int device, void* handle, void** send_comm) noexcept {
  return guarded("connect", [&] {
    require(handle, "the handle");
    require(send_comm, "where the comm goes");
    *send_comm = nullptr;
    const auto now = session();
    auto endpoint = now->endpoint(device);
    const std::span<std::byte, kHandleBytes> bytes(static_cast<std::byte*>(handle), kHandleBytes);
    auto comm = endpoint->connect(bytes);
    if (!comm) return;
    auto open = std::make_unique<OpenComm>();
    open->sender = std::move(comm);
    open->endpoint = std::move(endpoint);
    *send_comm = keep(std::move(open));
  });
}

Result accept(void* listen_comm, void** receive_comm) noexcept {
  return guarded("accept", [&] {
    require(receive_comm, "where the comm goes");
    *receive_comm = nullptr;
    OpenListener& from = listener_of(listen_comm);
    auto comm = from.listener->accept();
    if (!comm) return;
    auto open = std::make_unique<OpenComm>();
    open->receiver = std::move(comm);
    open->endpoint = from.endpoint;
    open->most_grouped = from.most_grouped;
    *receive_comm = keep(std::move(open));
  });
}

Result close_send(void* send_comm) noexcept {
  return guarded("closeSend", [&] {
    if (send_comm != nullptr) take_comm(send_comm, HandleKind::send_comm);
  });
}

Result close_receive(void* receive_comm) noexcept {
  return guarded("closeRecv", [&] {
    if (receive_comm != nullptr) take_comm(receive_comm, HandleKind::receive_comm);
  });
}

Result close_listen(void* listen_comm) noexcept {
  return guarded("closeListen", [&] {
    if (listen_comm != nullptr) take_listener(listen_comm);
  });
}

}  // namespace heddle::nccl_net::plugin
