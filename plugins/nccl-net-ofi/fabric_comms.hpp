// Comms that stand on the fabric's message connections.
#pragma once

#include <memory>

#include "nccl-net-ofi/comm.hpp"
#include "transport/fabric/message_transport.hpp"

namespace heddle::nccl_net {

std::unique_ptr<SendComm> make_send_comm(
    std::shared_ptr<transport::fabric::MessageTransport> transport,
    std::unique_ptr<transport::fabric::MessageSender> sender);

std::unique_ptr<ReceiveComm> make_receive_comm(
    std::shared_ptr<transport::fabric::MessageTransport> transport,
    std::unique_ptr<transport::fabric::MessageReceiver> receiver);

}  // namespace heddle::nccl_net
