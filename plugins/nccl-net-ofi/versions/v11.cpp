// NCCL 2.28 and 2.29. The traffic class, the profiler and attributes (hints) are not used.
#include "nccl-net-ofi/abi/net_v11.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v11 {
namespace {

Result init(void** context, std::uint64_t, nccl_abi::CommConfig*, nccl_abi::Logger logger,
            nccl_abi::ProfilerCallback) {
  return plugin::init_context(context, logger);
}

Result properties(int device, nccl_abi::PropertiesV11* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
    fill_limits(from, to);
    to.maxMultiRequestSize = 1;
  });
}

// Devices and comms are the process's; a context only counts.
Result listen(void*, int device, void* handle, void** comm) {
  return plugin::listen(device, handle, comm);
}

Result connect(void*, int device, void* handle, void** comm, nccl_abi::DevHandle**) {
  return plugin::connect(device, handle, comm);
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV11 ncclNetPlugin_v11) = {
    .name = kName,
    .init = init,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = listen,
    .connect = connect,
    .accept = versions::accept,
    .regMr = plugin::register_memory,
    .regMrDmaBuf = plugin::register_dmabuf,
    .deregMr = plugin::deregister_memory,
    .isend = send_profiled,
    .irecv = receive_profiled,
    .iflush = versions::flush,
    .test = plugin::test,
    .closeSend = plugin::close_send,
    .closeRecv = plugin::close_receive,
    .closeListen = plugin::close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = versions::make_virtual_device,
    .finalize = plugin::finalize,
    .setNetAttr = nullptr,
};

}  // namespace v11
}  // namespace heddle::nccl_net::versions
