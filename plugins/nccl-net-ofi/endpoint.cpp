// The adapters of one device, and how comms over them come to be.
#include <cstring>

#include "base/error.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "nccl-net-ofi/fabric_comms.hpp"
#include "topology/interfaces.hpp"

namespace heddle::nccl_net {

namespace {

namespace fabric = transport::fabric;
using Transport = std::shared_ptr<fabric::MessageTransport>;

// A handle ends with the number of connect's call, so that connect knows its attempt.
constexpr std::size_t kCallAt = fabric::kHandleBytes;
static_assert(kCallAt + sizeof(std::uint64_t) == kHandleBytes);

class FabricListener final : public Listener {
 public:
  explicit FabricListener(Transport transport)
      : transport_(std::move(transport)), listener_(transport_->listen()) {}
  ~FabricListener() override { transport_->unlisten(listener_.number); }

  std::span<const std::byte> handle() const override { return listener_.handle; }
  std::unique_ptr<ReceiveComm> accept() override {
    auto receiver = transport_->accept(listener_.number);
    return receiver ? make_receive_comm(transport_, std::move(receiver)) : nullptr;
  }

 private:
  Transport transport_;
  fabric::MessageTransport::Listener listener_;
};

class FabricEndpoint final : public Endpoint {
 public:
  explicit FabricEndpoint(Transport transport) : transport_(std::move(transport)) {}

  std::unique_ptr<Listener> listen() override {
    return std::make_unique<FabricListener>(transport_);
  }

  std::unique_ptr<SendComm> connect(std::span<std::byte, kHandleBytes> handle) override {
    std::uint64_t call;
    std::memcpy(&call, handle.data() + kCallAt, sizeof call);
    if (call == 0) call = transport_->call(handle.first<kCallAt>());
    std::uint64_t next = 0;  // what the handle is for after this: another connection
    std::unique_ptr<fabric::MessageSender> sender;
    try {
      sender = transport_->connect(call);
      if (!sender) next = call;
    } catch (const base::Error&) {
      std::memcpy(handle.data() + kCallAt, &next, sizeof next);
      throw;
    }
    std::memcpy(handle.data() + kCallAt, &next, sizeof next);
    return sender ? make_send_comm(transport_, std::move(sender)) : nullptr;
  }

 private:
  Transport transport_;
};

}  // namespace

std::shared_ptr<Endpoint> open_endpoint(const base::Settings& settings,
                                        const std::vector<std::string>& adapters,
                                        int most_grouped) {
  base::Settings of_device = settings;
  of_device.rails = fmt::format("{}", fmt::join(adapters, ","));
  std::vector<std::string> allowed;
  for (const auto& interface : topology::usable_interfaces(settings))
    allowed.push_back(interface.name);
  const fabric::ChosenProvider provider = fabric::choose_provider(of_device, allowed);
  const auto window = std::min<std::uint32_t>(
      fabric::kMaxWindow, static_cast<std::uint32_t>(kMostRequests * most_grouped));
  return std::make_shared<FabricEndpoint>(std::make_shared<fabric::MessageTransport>(
      of_device, provider, fabric::MessageOptions{.window = window}));
}

}  // namespace heddle::nccl_net
