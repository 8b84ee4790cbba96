// Machines with round numbers, for times that can be worked out by hand.
#pragma once

#include "topology/machine.hpp"

namespace heddle::simulator {

// Hosts of two ranks with one adapter. Ranks and the inside of hosts take no time that counts; the
// network has 1 GB/s (1 ns a byte) and 10 us of latency.
inline topology::Machine plain_machine() {
  topology::Machine machine;
  machine.name = "plain";
  machine.hosts = 4;
  machine.ranks_per_host = 2;
  machine.rank.copy_bandwidth = machine.rank.reduce_bandwidth = 1e15;
  machine.inner.bandwidth = 1e15;
  machine.adapters.count = 1;
  machine.adapters.bandwidth = 1e9;
  machine.adapters.latency = 10e-6;
  machine.software.slots = 4;
  machine.software.slot_bytes = 1000 * 1024;
  machine.software.stripe_bytes = 0;
  return machine;
}

}  // namespace heddle::simulator
