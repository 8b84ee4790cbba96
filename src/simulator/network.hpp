// What messages pass between two ranks, as servers that are busy with one message after another:
// ports or the bus inside a host; PCI switches, adapter engines and switch tiers between hosts.
//
// Two messages that want one server at once are served in the order of their coming; over many
// messages each flow gets its share. A message passes its servers head first (a server is busy
// while the message streams through it), except where it is staged in host memory, which has all of
// it before the next step begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/time.hpp"
#include "topology/machine.hpp"

namespace heddle::simulator {

// Serves one message at a time.
struct Server {
  Time free = 0;
};

// Where a rank is: the schedule's ranks are dealt out to the machine's.
struct Place {
  int host;
  int local;  // rank of the host
};

// What is simulated of a machine.
struct NetworkOptions {
  const topology::Machine& machine;
  int adapters;  // a host; -1: all, 0: the host network
  int ranks;     // in the job
  topology::Protocol protocol;
};

class Network {
 public:
  // Fails with heddleInvalidArgument when there is no such network.
  explicit Network(const NetworkOptions& options);

  Place place_of(int rank, int channel) const;
  bool same_host(int a, int b) const { return a / ranks_per_host_ == b / ranks_per_host_; }

  // Inside a host: the time at which the last byte of a message that starts at `now` is written.
  Time write_inside(int from, int to, int channel, double wire_bytes, Time now);
  Time inner_latency() const { return inner_latency_; }
  Time network_latency() const { return latency_; }
  Time post_time() const { return post_time_; }
  // Whether a pipe between hosts has a bandwidth of its own.
  bool has_streams() const { return model_.stream_bandwidth > 0; }

  // How many stripes a message between hosts is cut into.
  int stripes(double wire_bytes) const;

  // A stripe on its way.
  struct Flight {
    int from;  // ranks
    int to;
    int channel;
    int adapter;
    double bytes;              // on the wire
    bool asks;                 // the receiver first, as all stripes of a message do or none
    Time tail = 0;             // when its last byte is through the servers so far
    Server* stream = nullptr;  // of its pipe, where a pipe has a bandwidth of its own
    int stage = 0;
    int tier = 0;  // that it is passing
  };
  // Of one of the stripes of a message of so many bytes on the wire.
  Flight flight(int from, int to, int channel, double message_bytes, int stripe) const;

  struct Step {
    bool arrived;
    Time at;  // of the arrival, or of the next step
    // An adapter's engine was busy with it.
    bool rail = false, sends = false;
    int rail_host = 0;
    Time rail_begin = 0, rail_end = 0;
  };
  // Takes up the stripe's next server at `now`. Steps must be made in the order of time.
  Step advance(Flight& flight, Time now);

 private:
  struct Pci {
    Server up, down;  // between a switch and host memory
  };
  struct Engines {
    std::vector<Server> send, receive;
  };
  struct Tier {
    int hosts;
    Time latency;
    Rate rate;
    std::vector<Server> up, down;  // one a switch
  };

  int adapter_beside(const Place& place, int channel) const;
  int pci_switch_of_rank(int local) const;
  int pci_switch_of_adapter(int adapter) const;
  Pci& pci(int host, int index);
  // Whether the message's way to this adapter crosses host memory's side of the PCI switches.
  bool crosses(const Place& place, int adapter) const;
  Step send(Flight& flight, Time now);
  Step receive(Flight& flight, Time now);
  Step up(Flight& flight, Time now);
  Step down(Flight& flight, Time now);
  Time arrival(const Flight& flight, Time at) const;
  int tiers_between(int host_a, int host_b) const;
  Engines& engines(int host, int adapter);

  const topology::Machine& machine_;
  topology::AdapterModel model_;
  topology::Protocol protocol_;
  int ranks_per_host_;
  int hosts_;
  Rate inner_rate_, adapter_send_rate_, adapter_receive_rate_, stream_rate_, pci_rate_;
  Time inner_latency_, inner_message_, latency_, message_time_, post_time_, rendezvous_;
  Time extra_latency_;
  std::vector<Server> port_out_, port_in_;  // by machine rank; a bus is port_out_ by host
  std::vector<Pci> pci_;
  std::vector<Engines> engines_;
  std::vector<Tier> tiers_;
  std::vector<std::vector<int>> order_;   // by channel mod adapters: local rank of the machine
  std::vector<std::vector<int>> beside_;  // by PCI switch: adapters
};

}  // namespace heddle::simulator
