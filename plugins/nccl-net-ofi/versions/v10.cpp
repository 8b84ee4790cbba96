// NCCL 2.26 and 2.27.
// The traffic class and the profiler are not used.
#include "nccl-net-ofi/abi/net_v10.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v10 {
namespace {

Result init(nccl_abi::Logger logger, nccl_abi::ProfilerCallback) { return plugin::init(logger); }

Result properties(int device, nccl_abi::PropertiesV10* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
    fill_limits(from, to);
  });
}

Result connect(int device, nccl_abi::CommConfig*, void* handle, void** comm,
               nccl_abi::DevHandle**) {
  return plugin::connect(device, handle, comm);
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV10 ncclNetPlugin_v10) = {
    .name = kName,
    .init = init,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = plugin::listen,
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
};

}  // namespace v10
}  // namespace heddle::nccl_net::versions
