// NCCL 2.20 to 2.23.
#include "nccl-net-ofi/abi/net_v8.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v8 {
namespace {

Result properties(int device, nccl_abi::PropertiesV8* out) {
  return get_properties(device, out, [](const Device& from, auto& to) {
    fill_common(from, to);
    fill_device_type(to);
  });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV8 ncclNetPlugin_v8) = {
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

}  // namespace v8
}  // namespace heddle::nccl_net::versions
