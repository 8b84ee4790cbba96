// NCCL 2.24 and 2.25.
#include "nccl-net-ofi/abi/net_v9.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v9 {
namespace {

Result properties(int device, nccl_abi::PropertiesV9* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
    fill_limits(from, to);
  });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV9 ncclNetPlugin_v9) = {
    .name = kName,
    .init = plugin::init,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = plugin::listen,
    .connect = versions::connect,
    .accept = versions::accept,
    .regMr = plugin::register_memory,
    .regMrDmaBuf = plugin::register_dmabuf,
    .deregMr = plugin::deregister_memory,
    .isend = send_wide,
    .irecv = receive_wide,
    .iflush = versions::flush,
    .test = plugin::test,
    .closeSend = plugin::close_send,
    .closeRecv = plugin::close_receive,
    .closeListen = plugin::close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
    .makeVDevice = versions::make_virtual_device,
};

}  // namespace v9
}  // namespace heddle::nccl_net::versions
