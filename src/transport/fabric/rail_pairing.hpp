// Which rail of one process talks to which of another. Pure, and both ends come to the same answer.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heddle::transport::fabric {

struct RailPair {
  int ours;
  int theirs;
};

// Each process gives the networks of its rails in rail order ("" where a rail has no IP network).
// Rails of one network are paired first, in the order of the process with `we_lead` (exactly one of
// the two leads); the rest, as they come: the first that is left here with the first there. A rail
// without a partner is in no pair. The pairs come in the leader's rail order, so that both ends
// number them alike.
std::vector<RailPair> pair_rails(std::span<const std::string> our_networks,
                                 std::span<const std::string> their_networks, bool we_lead);

}  // namespace heddle::transport::fabric
