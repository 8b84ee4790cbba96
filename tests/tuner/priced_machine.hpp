// Small machines with round numbers, for prices that a person can work out.
#pragma once

#include "topology/machine.hpp"

namespace heddle::test {

// Ports between the ranks of a host, one adapter; moves and messages cost nothing by themselves.
inline topology::Machine plain_machine(int hosts, int ranks_per_host) {
  topology::Machine machine;
  machine.name = "plain";
  machine.hosts = hosts;
  machine.ranks_per_host = ranks_per_host;
  machine.rank.copy_bandwidth = 1e30;
  machine.rank.reduce_bandwidth = 1e30;
  machine.inner.kind = topology::InnerLink::Kind::ports;
  machine.inner.bandwidth = 1e9;
  machine.inner.latency = 1e-6;
  machine.adapters.count = 1;
  machine.adapters.bandwidth = 1e8;
  machine.adapters.latency = 10e-6;
  return machine;
}

}  // namespace heddle::test
