#include "transport/fabric/rail_pairing.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr int kNone = -1;

// For each of the leader's rails its partner or kNone.
std::vector<int> partners(std::span<const std::string> lead, std::span<const std::string> follow) {
  std::vector<int> partner(lead.size(), kNone);
  std::vector<bool> taken(follow.size(), false);
  const auto take = [&](std::size_t rail, bool same_network) {
    for (std::size_t i = 0; i < follow.size(); ++i) {
      if (taken[i] || (same_network && (lead[rail].empty() || follow[i] != lead[rail]))) continue;
      taken[i] = true;
      partner[rail] = static_cast<int>(i);
      return;
    }
  };
  for (std::size_t rail = 0; rail < lead.size(); ++rail) take(rail, true);
  for (std::size_t rail = 0; rail < lead.size(); ++rail)
    if (partner[rail] == kNone) take(rail, false);
  return partner;
}

}  // namespace

std::vector<RailPair> pair_rails(std::span<const std::string> our_networks,
                                 std::span<const std::string> their_networks, bool we_lead) {
  const std::vector<int> partner =
      we_lead ? partners(our_networks, their_networks) : partners(their_networks, our_networks);
  std::vector<RailPair> pairs;
  for (int rail = 0; rail < static_cast<int>(partner.size()); ++rail) {
    const int other = partner[static_cast<std::size_t>(rail)];
    if (other == kNone) continue;
    pairs.push_back(we_lead ? RailPair{rail, other} : RailPair{other, rail});
  }
  return pairs;
}

}  // namespace heddle::transport::fabric
