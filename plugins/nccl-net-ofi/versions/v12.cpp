// NCCL 2.30. As version 11.
#include "nccl-net-ofi/abi/net_v12.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v12 {
namespace {

Result properties(int device, nccl_abi::PropertiesV12* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_as_v11(from, to);
    to.railId = nccl_abi::kUndefined;
    to.planeId = nccl_abi::kUndefined;
  });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV12 ncclNetPlugin_v12) = {
    .name = kName,
    .init = versions::init_context,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = listen_in,
    .connect = connect_in,
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
