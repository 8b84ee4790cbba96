// Which of two addresses another host should try first.
#pragma once

#include "topology/interfaces.hpp"

namespace heddle::topology {

// IPv4, then IPv6, then link-local IPv4, then link-local IPv6 (whose scope means nothing to
// others).
bool comes_first(const Address& a, const Address& b);

}  // namespace heddle::topology
