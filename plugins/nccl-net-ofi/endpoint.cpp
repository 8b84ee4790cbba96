// The adapters of one device, and how comms over them come to be.
#include <cstring>

#include "base/error.hpp"
#include "nccl-net-ofi/comm.hpp"
#include "nccl-net-ofi/fabric_comms.hpp"

namespace heddle::nccl_net {

namespace {

namespace fabric = transport::fabric;

// A handle ends with the number of connect's call, so that connect knows its attempt.
constexpr std::size_t kCallAt = fabric::kHandleBytes;
static_assert(kCallAt + sizeof(std::uint64_t) == kHandleBytes);

class FabricListener final : public Listener {
 public:
  explicit FabricListener(const Adapters& adapters)
      : adapters_(adapters), listener_(adapters_.transport->listen()) {}
  ~FabricListener() override { adapters_.transport->unlisten(listener_.number); }

  std::span<const std::byte> handle() const override { return listener_.handle; }
  std::unique_ptr<ReceiveComm> accept() override {
    auto receiver = adapters_.transport->accept(listener_.number);
    return receiver ? make_receive_comm(adapters_, std::move(receiver)) : nullptr;
  }

 private:
  Adapters adapters_;
  fabric::MessageTransport::Listener listener_;
};

class FabricEndpoint final : public Endpoint {
 public:
  explicit FabricEndpoint(const Adapters& adapters) : adapters_(adapters) {}

  std::unique_ptr<Listener> listen() override {
    return std::make_unique<FabricListener>(adapters_);
  }

  std::unique_ptr<SendComm> connect(std::span<std::byte, kHandleBytes> handle) override {
    std::uint64_t call;
    std::memcpy(&call, handle.data() + kCallAt, sizeof call);
    if (call == 0) call = adapters_.transport->call(handle.first<kCallAt>());
    std::uint64_t next = 0;  // what the handle is for after this: another connection
    std::unique_ptr<fabric::MessageSender> sender;
    try {
      sender = adapters_.transport->connect(call);
      if (!sender) next = call;
    } catch (const base::Error&) {
      std::memcpy(handle.data() + kCallAt, &next, sizeof next);
      throw;
    }
    std::memcpy(handle.data() + kCallAt, &next, sizeof next);
    return sender ? make_send_comm(adapters_, std::move(sender)) : nullptr;
  }

 private:
  Adapters adapters_;
};

}  // namespace

std::shared_ptr<Endpoint> open_endpoint(const base::Settings& settings,
                                        const std::vector<std::string>& adapters,
                                        int most_grouped) {
  base::Settings of_device = settings;
  of_device.rails = fmt::format("{}", fmt::join(adapters, ","));
  const fabric::ChosenProvider provider = choose_adapters(of_device);
  fabric::MessageOptions options;
  options.window = std::min<std::uint32_t>(
      fabric::kMaxWindow, static_cast<std::uint32_t>(kMostRequests * most_grouped));
  Adapters open;
  open.most_grouped = most_grouped;
  open.memory = open_device_memory(provider);
  // What is copied into a receive is copied by the processor, which cannot reach GPUs' memory.
  options.copies = !open.memory->support().cuda;
  open.transport = std::make_shared<fabric::MessageTransport>(of_device, provider, options);
  return std::make_shared<FabricEndpoint>(open);
}

}  // namespace heddle::nccl_net
