// What several versions of the interface need to come to plugin.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "nccl-net-ofi/guard.hpp"
#include "nccl-net-ofi/open_comms.hpp"
#include "nccl-net-ofi/plugin.hpp"

// A table that NCCL looks up by its name. Declared first: with `extern "C"` a definition warns.
#define HEDDLE_NCCL_EXPORTED(declaration)                    \
  extern "C" {                                               \
  __attribute__((visibility("default"))) extern declaration; \
  }                                                          \
  declaration

namespace heddle::nccl_net::versions {

using nccl_abi::Result;

// Of one message. The sizes that test() tells are int, also in the versions that send more; NCCL
// takes 1 GiB itself for plugins that are too old to say.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// The members that all properties have. Latency: 0, because NCCL adds what a plugin knows to its
// own estimate, and nobody has measured this network.
template <typename Properties>
void fill_common(const Device& device, Properties& out) {
  out = {};
  out.name =
      const_cast<char*>(device.name);  // NCCL's types lack a const and its code does not write
  out.pciPath = const_cast<char*>(device.pci_path);
  out.guid = device.guid;
  out.ptrSupport = device.pointer_kinds;
  out.speed = device.megabits;
  out.port = 1;
  out.latency = 0;
  out.maxComms = device.most_comms;
  out.maxRecvs = device.most_grouped;
}

// From version 7.
template <typename Properties>
void fill_device_type(Properties& out) {
  out.netDeviceType = nccl_abi::NetDeviceType::host;
  out.netDeviceVersion = nccl_abi::kNetDeviceVersion;
}

// From version 9.
template <typename Properties>
void fill_limits(const Device& device, Properties& out) {
  out.forceFlush = device.must_flush ? 1 : 0;
  out.maxP2pBytes = kMostBytes;
  out.maxCollBytes = kMostBytes;
  const std::size_t most = std::size(out.vProps.devs);
  if (device.members.size() > most)
    base::fail(heddleInternalError, "device {} has {} members, this version of NCCL knows {}",
               device.name, device.members.size(), most);
  out.vProps.ndevs = static_cast<int>(device.members.size());
  std::copy(device.members.begin(), device.members.end(), out.vProps.devs);
}

// getProperties: `fill` writes them from a Device.
template <typename Properties, typename Fill>
Result get_properties(int number, Properties* out, Fill fill) noexcept {
  Device device;
  const Result found = plugin::properties(number, &device);
  if (found != Result::success) return found;
  return guarded("getProperties", [&] {
    require(out, "where the properties go");
    fill(device, *out);
  });
}

// makeVDevice.
template <typename Members>
Result make_virtual_device(int* device, Members* members) noexcept {
  return guarded("makeVDevice",
                 [&] {
                   require(members, "the list of devices");
                   const int most = static_cast<int>(std::size(members->devs));
                   if (members->ndevs < 1 || members->ndevs > most)
                     base::fail(heddleInternalError, "a device of {} devices; 1 to {} are allowed",
                                members->ndevs, most);
                 }) == Result::success
             ? plugin::make_virtual_device(
                   device,
                   std::span<const int>(members->devs, static_cast<std::size_t>(members->ndevs)))
             : Result::internal_error;
}

// Calls whose sizes are int, before version 9. A negative one is what became of 2 GiB and more.
inline std::size_t widened(int bytes) {
  if (bytes < 0)
    base::fail(heddleInternalError, "{} bytes: this version of NCCL's interface ends at 2 GiB - 1",
               bytes);
  return static_cast<std::size_t>(bytes);
}

inline Result register_memory(void* comm, void* data, int bytes, int type, void** memory) noexcept {
  const Result fits = guarded("regMr", [&] { widened(bytes); });
  if (fits != Result::success) return fits;
  return plugin::register_memory(comm, data, static_cast<std::size_t>(bytes), type, memory);
}

inline Result send(void* comm, void* data, int bytes, int tag, void* memory,
                   void** request) noexcept {
  const Result fits = guarded("isend", [&] { widened(bytes); });
  if (fits != Result::success) return fits;
  return plugin::send(comm, data, static_cast<std::size_t>(bytes), tag, memory, request);
}

inline Result receive(void* comm, int count, void** data, int* bytes, int* tags, void** memories,
                      void** request) noexcept {
  std::array<std::size_t, kMostGrouped> wide{};
  const Result fits = guarded("irecv", [&] {
    require(bytes, "the list of sizes");
    for (int i = 0; i < std::min(count, kMostGrouped); ++i)
      wide[static_cast<std::size_t>(i)] = widened(bytes[i]);
  });
  if (fits != Result::success) return fits;
  return plugin::receive(comm, count, data, wide.data(), tags, memories, request);
}

// Calls with what later versions added and nobody needs here: device handles (which are for
// networks that GPUs drive, and must not be followed) and the profiler's parents.
inline Result connect(int device, void* handle, void** comm, nccl_abi::DevHandle**) noexcept {
  return plugin::connect(device, handle, comm);
}

inline Result accept(void* listener, void** comm, nccl_abi::DevHandle**) noexcept {
  return plugin::accept(listener, comm);
}

inline Result flush(void* comm, int count, void** data, int* bytes, void** memories,
                    void** request) noexcept {
  return plugin::flush(comm, count, data, bytes, memories, request);
}

inline Result send_wide(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                        void** request) noexcept {
  return plugin::send(comm, data, bytes, tag, memory, request);
}

inline Result receive_wide(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                           void** memories, void** request) noexcept {
  return plugin::receive(comm, count, data, bytes, tags, memories, request);
}

inline Result send_profiled(void* comm, void* data, std::size_t bytes, int tag, void* memory, void*,
                            void** request) noexcept {
  return plugin::send(comm, data, bytes, tag, memory, request);
}

inline Result receive_profiled(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                               void** memories, void**, void** request) noexcept {
  return plugin::receive(comm, count, data, bytes, tags, memories, request);
}

// From version 11: a communicator has a context. Devices and comms are the process's; a context
// only counts. The traffic class and the profiler are not used.
inline Result init_context(void** context, std::uint64_t, nccl_abi::CommConfig*,
                           nccl_abi::Logger logger, nccl_abi::ProfilerCallback) noexcept {
  return plugin::init_context(context, logger);
}

inline Result listen_in(void*, int device, void* handle, void** comm) noexcept {
  return plugin::listen(device, handle, comm);
}

inline Result connect_in(void*, int device, void* handle, void** comm,
                         nccl_abi::DevHandle**) noexcept {
  return plugin::connect(device, handle, comm);
}

// The members that version 11 knows.
template <typename Properties>
void fill_as_v11(const Device& device, Properties& out) {
  fill_common(device, out);
  fill_device_type(out);
  fill_limits(device, out);
  out.maxMultiRequestSize = 1;
}

}  // namespace heddle::nccl_net::versions
