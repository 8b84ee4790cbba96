// The part of Core that people and their tools read: names and figures of rails and links.
#include "transport/fabric/connection.hpp"
#include "transport/fabric/rail_choice.hpp"

namespace heddle::transport::fabric {

std::string Core::name_of(const Peer& peer, const Link& link) const {
  return fmt::format("rail {} to process {} of host {} (there {})",
                     rails_[static_cast<std::size_t>(link.rail)]->adapter().name, peer.address.pid,
                     peer.address.host,
                     peer.address.rails[static_cast<std::size_t>(link.their_rail)].adapter);
}

std::string Core::state_of_links(const Peer& peer) const {
  std::string text;
  for (const Link& link : peer.links)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ",
                        rails_[static_cast<std::size_t>(link.rail)]->adapter().name,
                        link.why.empty() ? "never answered" : link.why);
  return text;
}

std::string Core::shown_provider() const {
  const auto emulated = [](const auto& rail) { return rail->adapter().emulated; };
  return address_.provider + (std::ranges::any_of(rails_, emulated) ? " (EMULATED)" : "");
}

void Core::log_opening(const ChosenProvider& provider) const {
  const std::string fewer = fewer_rails(settings_.rails, rails_.size());
  if (!fewer.empty()) base::log_warn("{}", fewer);
  base::log_info("NET/OFI Selected Provider is {} (found {} nics)", shown_provider(),
                 provider.adapters.size());
  std::string rails;
  for (const auto& rail : rails_) {
    const Adapter& adapter = rail->adapter();
    rails += fmt::format("{}{}{}{}", rails.empty() ? "" : ", ", adapter.name,
                         adapter.pci.empty() ? "" : " at " + adapter.pci,
                         adapter.gigabits > 0 ? fmt::format(" {:g} Gb/s", adapter.gigabits) : "");
  }
  base::log_info("NET/OFI libfabric {}, protocol {}, {}, rails: {}", libfabric_version(),
                 provider.protocol, provider.rma ? "RDMA write" : "messages", rails);
}

void Core::log_rails() const {
  for (const RailMetrics& rail : rail_metrics())
    base::log_info(
        "NET/OFI rail {}: {} bytes sent, given up {} times, back {} times, {} new endpoints, {} "
        "registrations",
        rail.rail, rail.sent_bytes, rail.given_up, rail.came_back, rail.new_endpoints,
        rail.registrations);
}

std::vector<RailMetrics> Core::rail_metrics() const {
  std::vector<RailMetrics> all;
  for (std::size_t i = 0; i < rails_.size(); ++i) {
    RailMetrics one;
    one.provider = shown_provider();
    one.rail = rails_[i]->adapter().name;
    one.sent_bytes = records_[i].sent_bytes;
    one.given_up = records_[i].given_up;
    one.came_back = records_[i].came_back;
    one.new_endpoints = records_[i].new_endpoints;
    one.registrations = rails_[i]->registrations_made();
    all.push_back(std::move(one));
  }
  for (const auto& [instance, peer] : peers_)
    for (const Link& link : peer->links) {
      RailMetrics& rail = all[static_cast<std::size_t>(link.rail)];
      ++rail.links;
      rail.links_up += link.up;
    }
  return all;
}

}  // namespace heddle::transport::fabric
