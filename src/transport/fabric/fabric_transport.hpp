// Pipes between processes over libfabric. See README.md for the layers below.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "transport/fabric/wire.hpp"

namespace heddle::transport::fabric {

class Core;
class Handshake;
struct ChosenProvider;

class FabricTransport final : public Transport {
 public:
  // Opens the provider that settings ask for on the adapters that `allowed_interfaces` permits.
  // Fails with heddleInvalidArgument when it is not there, heddleSystemError when it does not open.
  FabricTransport(const base::Settings& settings, std::span<const std::string> allowed_interfaces);
  // The same with the choice made: one rail an adapter, in that order.
  FabricTransport(const base::Settings& settings, const ChosenProvider& provider);
  // Pipes may outlive it. The last of both lets messages leave for at most a second.
  ~FabricTransport() override;

  // Pipes of a communicator are made only while its secret is known; both ends prove to know it.
  // Several ranks of one process may add the same one.
  void add_secret(const CommunicatorId& communicator, const PipeSecret& secret) override;
  // The last one also gives up the pipes of the communicator that are being made; pipes that
  // connect and accept have returned are not touched.
  void remove_secret(const CommunicatorId& communicator) override;

  std::string_view name() const override { return "fabric"; }
  std::string description() const override;
  std::string address() const override;
  int rails_to(const std::string& address) const override;
  // connect fails with heddleInvalidUsage when the peer uses another provider.
  std::unique_ptr<SendPipe> connect(const std::string& peer, const PipeKey& key,
                                    const PipeOptions& options) override;
  std::unique_ptr<ReceivePipe> accept(const std::string& peer, const PipeKey& key,
                                      const PipeOptions& options) override;
  std::shared_ptr<const void> register_buffer(std::byte* data, std::size_t bytes) override;
  std::vector<RailMetrics> rail_metrics() const override;
  void progress() override;

  // Gives a rail (0 to the number of rails - 1) a new endpoint, as failover does; what was under
  // way on it goes over others meanwhile. Only where there are several rails and RDMA writes.
  void renew_rail(int rail, const std::string& why);

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Handshake> handshake_;  // under the core's mutex
};

}  // namespace heddle::transport::fabric

namespace heddle::transport {
using fabric::FabricTransport;
}  // namespace heddle::transport
