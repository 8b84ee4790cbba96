// The reference as NCCL sees it, in versions 8 and 11.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "nccl-net-ofi/abi/net_v11.hpp"
#include "nccl-net-ofi/abi/net_v8.hpp"
#include "reference.hpp"

namespace heddle::net_reference {
namespace {

using namespace nccl_abi;

// One lock around everything.
std::mutex mutex;
std::atomic<int> inits{0};

struct Memory {
  std::byte* data;
  std::size_t bytes;
};

// Loaded before in this process, and unloaded.
bool loaded_again() {
  constexpr const char* kMark = "NCCL_NET_REFERENCE_LOADED";
  static const bool again = std::getenv(kMark) != nullptr;
  setenv(kMark, "1", 1);
  return again;
}

const pid_t first_process = getpid();
std::atomic<int> connects{0};

Result init(Logger logger) {
  ++inits;
  if (fault("init-once") && inits > 1) {
    logger(LogLevel::warn, kLogInit, __FILE__, __LINE__, "init was called %d times", inits.load());
    return Result::internal_error;
  }
  if (fault("load-once") && loaded_again()) return Result::internal_error;
  if (fault("spin")) {
    std::thread([] {
      for (std::atomic<unsigned> turns{0};;) ++turns;
    }).detach();
  }
  return Result::success;
}

Result devices(int* count) {
  *count = 2;
  return Result::success;
}

template <typename Properties>
Result get_properties(int device, Properties* properties) {
  static char names[2][16] = {"reference0", "reference1"};
  if (device < 0 || device > 1) return Result::invalid_argument;
  *properties = {};
  properties->name = names[fault("names") ? 0 : device];
  properties->guid = static_cast<std::uint64_t>(device) + 1;
  properties->ptrSupport = kPointerHost;
  properties->speed = 10'000;
  properties->maxComms = 1000;
  properties->maxRecvs = fault("ungrouped") ? 1 : kMostGrouped;
  if constexpr (requires { properties->maxP2pBytes; }) {
    properties->vProps.ndevs = 1;
    properties->vProps.devs[0] = device;
    properties->maxP2pBytes = fault("nothing-fits") ? 0 : std::size_t{1} << 30;
    properties->maxCollBytes = properties->maxP2pBytes;
    properties->maxMultiRequestSize = 1;
  }
  return Result::success;
}

Result listen(int, void* handle, void** comm) {
  if (fault("fork") && getpid() != first_process) kill(first_process, SIGKILL);
  const std::lock_guard lock(mutex);
  auto* listener = open_listener();
  if (!listener) return Result::system_error;
  std::strcpy(static_cast<char*>(handle), listener->name.c_str());
  *comm = listener;
  return Result::success;
}

Result connect(int, void* handle, void** comm, DevHandle**) {
  bool refused = false;
  if (fault("few-comms") && ++connects > 16) return Result::system_error;
  *comm = net_reference::connect(static_cast<char*>(handle), &refused);
  return refused ? Result::remote_error : Result::success;
}

Result accept(void* listener, void** comm, DevHandle**) {
  *comm = net_reference::accept(*static_cast<Listener*>(listener));
  return Result::success;
}

Result reg_mr(void* comm, void* data, std::size_t bytes, int, void** memory) {
  const std::lock_guard lock(mutex);
  if (fault("register") && static_cast<Comm*>(comm)->busy()) return Result::internal_error;
  *memory = new Memory{static_cast<std::byte*>(data), bytes};
  return Result::success;
}

Result dereg_mr(void*, void* memory) {
  delete static_cast<Memory*>(memory);
  return Result::success;
}

template <typename Bytes>
Result send(void* comm, void* data, Bytes bytes, int tag, void* memory, void** request) {
  const std::lock_guard lock(mutex);
  const auto* known = static_cast<const Memory*>(memory);
  if (fault("null-memory") && !known->data) return Result::internal_error;
  if (fault("bounds") && data != known->data) std::abort();
  if (fault("aligned") && reinterpret_cast<std::uintptr_t>(data) % 8 != 0)
    return Result::invalid_usage;
  bool refused = false;
  *request = static_cast<Comm*>(comm)->send(static_cast<std::byte*>(data),
                                            static_cast<std::uint64_t>(bytes), tag, &refused);
  return refused ? Result::invalid_usage : Result::success;
}

template <typename Bytes>
Result receive(void* comm, int count, void** data, Bytes* bytes, int* tags, void**,
               void** request) {
  const std::lock_guard lock(mutex);
  if (fault("mark") && *request) return Result::success;
  std::vector<Slot> slots;
  for (int i = 0; i < count; ++i)
    slots.push_back(
        {static_cast<std::byte*>(data[i]), static_cast<std::uint64_t>(bytes[i]), tags[i]});
  *request = static_cast<Comm*>(comm)->receive(std::move(slots));
  return Result::success;
}

Result flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return Result::success;
}

Result test(void* of, int* done, int* sizes) {
  const std::lock_guard lock(mutex);
  auto* request = static_cast<Request*>(of);
  if (request->state == Request::State::waiting) request->comm->progress();
  *done = request->state == Request::State::done;
  const bool failed = request->state == Request::State::failed;
  if (*done && (sizes || fault("needs-sizes")))
    for (std::size_t i = 0; i < request->slots.size(); ++i)
      sizes[i] = static_cast<int>(request->slots[i].received);
  if (*done || failed) request->comm->release(request);
  return failed ? Result::remote_error : Result::success;
}

Result close_comm(void* comm) {
  const std::lock_guard lock(mutex);
  auto* closing = static_cast<Comm*>(comm);
  if (closing->busy() && fault("close-crash")) std::abort();
  while (closing->busy() && fault("close-hangs")) closing->progress();
  delete closing;
  return Result::success;
}

Result close_listen(void* listener) {
  close_listener(static_cast<Listener*>(listener));
  return Result::success;
}

Result init_v11(void** context, std::uint64_t, CommConfig*, Logger logger, ProfilerCallback) {
  *context = &mutex;
  return init(logger);
}
Result listen_v11(void*, int device, void* handle, void** comm) {
  return listen(device, handle, comm);
}
Result connect_v11(void*, int device, void* handle, void** comm, DevHandle** device_handle) {
  return connect(device, handle, comm, device_handle);
}
Result send_v11(void* comm, void* data, std::size_t bytes, int tag, void* memory, void*,
                void** request) {
  return send(comm, data, bytes, tag, memory, request);
}
Result receive_v11(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                   void** memories, void**, void** request) {
  return receive(comm, count, data, bytes, tags, memories, request);
}
Result finalize(void* context) {
  if (!context && fault("finalize")) std::abort();
  return Result::success;
}

}  // namespace
}  // namespace heddle::net_reference

#define REFERENCE_EXPORTED extern "C" __attribute__((visibility("default")))

using namespace heddle::net_reference;

REFERENCE_EXPORTED heddle::nccl_abi::NetV8 ncclNetPlugin_v8;
heddle::nccl_abi::NetV8 ncclNetPlugin_v8 = {
    "Reference", init,       devices,      get_properties, listen,       connect, accept,
    reg_mr,      nullptr,    dereg_mr,     send<int>,      receive<int>, flush,   test,
    close_comm,  close_comm, close_listen, nullptr,        nullptr};

REFERENCE_EXPORTED heddle::nccl_abi::NetV11 ncclNetPlugin_v11;
heddle::nccl_abi::NetV11 ncclNetPlugin_v11 = {
    "Reference", init_v11, devices,    get_properties, listen_v11,   connect_v11,
    accept,      reg_mr,   nullptr,    dereg_mr,       send_v11,     receive_v11,
    flush,       test,     close_comm, close_comm,     close_listen, nullptr,
    nullptr,     nullptr,  finalize,   nullptr};
