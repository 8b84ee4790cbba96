// Comms that stand on the fabric's message connections.
#pragma once

#include <memory>

#include "nccl-net-ofi/comm.hpp"
#include "nccl-net-ofi/device_memory.hpp"
#include "nccl-net-ofi/patience.hpp"
#include "transport/fabric/message_transport.hpp"

namespace heddle::nccl_net {

// Those of one device, open.
struct Adapters {
  std::shared_ptr<transport::fabric::MessageTransport> transport;
  std::shared_ptr<const DeviceMemory> memory;
  // For adapters to let go of memory that is taken from under them.
  std::shared_ptr<Patience> patience = std::make_shared<Patience>();
  int most_grouped = 1;  // buffers of one receive, at both ends
};

std::unique_ptr<SendComm> make_send_comm(const Adapters& adapters,
                                         std::unique_ptr<transport::fabric::MessageSender> sender);

std::unique_ptr<ReceiveComm> make_receive_comm(
    const Adapters& adapters, std::unique_ptr<transport::fabric::MessageReceiver> receiver);

}  // namespace heddle::nccl_net
