// NCCL 2.13 to 2.18.
#include "nccl-net-ofi/abi/net_v6.hpp"

#include "nccl-net-ofi/versions/translate.hpp"

namespace heddle::nccl_net::versions {
namespace v6 {
namespace {

Result properties(int device, nccl_abi::PropertiesV6* out) {
  return get_properties(device, out, [](const Device& from, auto& to) { fill_common(from, to); });
}

}  // namespace

HEDDLE_NCCL_EXPORTED(nccl_abi::NetV6 ncclNetPlugin_v6) = {
    .name = kName,
    .init = plugin::init,
    .devices = plugin::devices,
    .getProperties = properties,
    .listen = plugin::listen,
    .connect = plugin::connect,
    .accept = plugin::accept,
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
};

}  // namespace v6
}  // namespace heddle::nccl_net::versions
