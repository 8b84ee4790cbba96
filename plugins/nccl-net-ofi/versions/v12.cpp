// NCCL 2.30. As version 11.
#include "nccl-net-ofi/abi/net_v12.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v12 {
namespace {

Result init(void** context, std::uint64_t, nccl_abi::CommConfig*, nccl_abi::Logger logger,
            nccl_abi::ProfilerCallback) {
  return plugin::init_context(context, logger);
}

Result properties(int device, nccl_abi::PropertiesV12* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
    fill_limits(from, to);
    to.maxMultiRequestSize = 1;
    to.railId = nccl_abi::kUndefined;
    to.planeId = nccl_abi::kUndefined;
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

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV12 ncclNetPlugin_v12) = {
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

}  // namespace v12
}  // namespace heddle::nccl_net::versions
