// NCCL 2.19.
#include "nccl-net-ofi/abi/net_v7.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v7 {
namespace {

Result properties(int device, nccl_abi::PropertiesV7* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
  });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV7 ncclNetPlugin_v7) = {
    .name = kName,
    .init = plugin::init,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = plugin::listen,
    .connect = versions::connect,
    .accept = versions::accept,
    .regMr = versions::register_memory,
    .regMrDmaBuf = plugin::register_dmabuf,
    .deregMr = plugin::deregister_memory,
    .isend = versions::send,
    .irecv = versions::receive,
    .iflush = versions::flush,
    .test = plugin::test,
    .closeSend = plugin::close_send,
    .closeRecv = plugin::close_receive,
    .closeListen = plugin::close_listen,
    .getDeviceMr = nullptr,
    .irecvConsumed = nullptr,
};

}  // namespace v7
}  // namespace heddle::nccl_net::versions
