#include "communicator/transports.hpp"

#include <map>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "topology/interfaces.hpp"
#include "transport/fabric/fabric_transport.hpp"
#include "transport/fabric/provider.hpp"
#include "transport/shared_memory/transport.hpp"

namespace heddle::communicator {
namespace {

std::mutex opening;

// What decides which fabric a communicator needs.
std::string fabric_kind(const base::Settings& settings) {
  return fmt::format("{} {} {} {:d} {} {} {} {} {}", settings.provider, settings.iface,
                     settings.rails, settings.rma, settings.eager_bytes, settings.slots,
                     settings.slot_bytes, settings.timeout, settings.rail_timeout);
}

}  // namespace

std::shared_ptr<transport::Transport> open_shared_memory() {
  static std::weak_ptr<transport::Transport> open;
  const std::lock_guard lock(opening);
  auto transport = open.lock();
  if (!transport) open = transport = std::make_shared<transport::SharedMemoryTransport>();
  return transport;
}

std::shared_ptr<transport::Transport> open_fabric(const base::Settings& settings) {
  static std::map<std::string, std::weak_ptr<transport::Transport>> open;
  const std::lock_guard lock(opening);
  auto& place = open[fabric_kind(settings)];
  auto transport = place.lock();
  if (!transport)
    place = transport = std::make_shared<transport::FabricTransport>(
        settings, topology::usable_interface_names(settings));
  return transport;
}

void check_provider(const base::Settings& settings) {
  transport::fabric::choose_provider(settings, topology::usable_interface_names(settings));
}

}  // namespace heddle::communicator
