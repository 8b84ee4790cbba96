// NCCL 2.28 and 2.29. Attributes, which are hints, are not used.
#include "nccl-net-ofi/abi/net_v11.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v11 {
namespace {

Result properties(int device, nccl_abi::PropertiesV11* out) {
  return get_properties(device, out, [](const Device& from, auto& to) { fill_as_v11(from, to); });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV11 ncclNetPlugin_v11) = {
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

}  // namespace v11
}  // namespace heddle::nccl_net::versions
