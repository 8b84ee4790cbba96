// A machine as a model: what the simulator runs schedules on and what prices are computed from.
// Only numbers; nothing here looks at the machine that the program runs on.
//
// Units: seconds and bytes per second throughout; the JSON form (machine_json.hpp) has microseconds
// and GB/s (10^9 bytes per second), as people write them.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace heddle::topology {

inline constexpr std::size_t kAnyBytes = std::numeric_limits<std::size_t>::max();

// What one rank does with data. Its channels share these rates.
struct RankModel {
  double copy_bandwidth = 0;    // bytes written to one destination
  double reduce_bandwidth = 0;  // bytes of one source added to another
  double lane_bandwidth = 0;    // bytes of one channel's moves; 0 means as fast as the rank
  double move_time = 0;         // each move, whatever its size
  // Channels run side by side, as thread blocks do; else one thread runs them by turns.
  bool parallel_channels = false;
};

// Between the ranks of one host.
struct InnerLink {
  enum class Kind {
    ports,  // a port out of, and one into, each rank (NVSwitch, NeuronLink)
    bus,    // one memory bus that all ranks of the host share
  };
  Kind kind = Kind::bus;
  double bandwidth = 0;  // of one port in one direction, or of the bus
  double latency = 0;
  double message_time = 0;  // the link is busy with each message, whatever its size
};

// How the ranks of a host reach its adapters: PCI switches with an equal share of both below each,
// and the way between a switch and the host's memory. Without it adapters reach every rank alike.
struct PciModel {
  int switches = 0;      // 0: not modelled
  double bandwidth = 0;  // between a switch and host memory, each direction
};

// One kind of network interface, `count` of them in each host.
struct AdapterModel {
  int count = 0;
  double bandwidth = 0;         // of one adapter, each direction
  double latency = 0;           // from the sender's adapter to the receiver's memory
  double message_time = 0;      // an engine is busy with each message, whatever its size
  double post_time = 0;         // a rank's channel is busy with the sending of each message
  double stream_bandwidth = 0;  // of one pipe, for example one TCP connection; 0: the adapter's
  int send_engines = 1;         // that share the adapter's bandwidth evenly
  int receive_engines = 1;
  std::size_t eager_bytes = kAnyBytes;  // the largest message sent without asking the receiver
  double rendezvous_time = 0;           // what a larger one adds
  // Messages go through the memory of the host, and so cross the way to it twice in each host,
  // unless there are so many adapters that each reaches its ranks' memory directly; then each
  // message takes direct_time more.
  bool staged = false;
  int direct_from = 0;  // adapters a host; 0 is never
  double direct_time = 0;
};

// Hosts below one switch of a tier, and how much less goes up from it than can come from below.
struct SwitchTier {
  int hosts = 0;                // below each switch of this tier
  double oversubscription = 1;  // 1: as much up as down
  double latency = 0;           // for a message that goes up to this switch or higher
};

// A way to lay data on the wire, such as NCCL's LL, LL128 and Simple.
struct Protocol {
  std::string name;
  double wire_efficiency = 1;  // data bytes per byte on a link
  double move_time = 0;        // what it adds to every move
  double network_time = 0;     // what it adds to every message between hosts
  bool direct = true;          // false: never straight to a rank's memory, so without direct_time
};

// The room of the shortest chunk, a cache line: of a slot or a message there is no less.
inline constexpr std::size_t kLeastMessageBytes = 64;

// What the library can run (HEDDLE_CHANNELS), and what may be simulated of any software.
inline constexpr int kMostTunedChannels = 16, kMostChosenChannels = 1024;

// What the software on the machine runs for messages up to a size.
struct Choice {
  std::size_t up_to_bytes = kAnyBytes;
  std::string algorithm;
  int channels = 1;
  std::string protocol;
};

// What was measured to be best on this machine for one collective in one world (heddle-tune). Those
// of a world are sorted by size; beyond the last, nothing was measured.
struct Tuned {
  std::string collective;  // "all-reduce"
  int hosts = 1;
  int ranks = 1;
  std::size_t up_to_bytes = kAnyBytes;  // of the larger buffer of a rank
  std::string algorithm;
  int channels = 1;
  std::size_t message_bytes = 0;  // "chunk_bytes": the most of one message; 0: a slot
};

struct SoftwareModel {
  std::string name = "heddle";
  int slots = 8;
  std::size_t slot_bytes = 256 * 1024;
  double start_time = 0;  // of every operation
  // A message uses one adapter, beside the sending rank, and channel c has the ranks of a host in
  // such an order that a chain enters and leaves it beside adapter c mod count. Else every message
  // is striped over all adapters and all channels have the same order of ranks.
  bool rail_per_channel = false;
  std::size_t stripe_bytes = 64 * 1024;  // messages up to this go over one adapter
  // Messages of at least this leave from the user's memory without a copy.
  std::size_t in_place_bytes = kAnyBytes;
  std::vector<Protocol> protocols;
  std::vector<Choice> choices;  // empty: heddle's own selection
  std::vector<Tuned> tuned;
};

struct Machine {
  std::string name;
  std::string about;
  int hosts = 1;
  int ranks_per_host = 1;
  int cores = 0;  // of a host that its ranks share; 0: as many as ranks, or more
  RankModel rank;
  InnerLink inner;
  PciModel pci;
  AdapterModel adapters;
  // What carries messages when a job is given no adapter; count 0: nothing.
  AdapterModel host_network;
  std::vector<SwitchTier> tiers;  // from the hosts up
  SoftwareModel software;

  // Where each number of a preset is from: JSON path ("adapters.latency_us") to words.
  std::map<std::string, std::string> origins;

  int ranks() const { return hosts * ranks_per_host; }
};

// The network that a job of several hosts uses with so many adapters a host (-1: all there are).
// Fails with heddleInvalidArgument when there is none, or more are asked for than there are.
AdapterModel network_of(const Machine& machine, int adapters);

// Fails with heddleInvalidArgument, naming the field and what is allowed, unless every number can
// be: bandwidths above 0, hosts with an adapter where there are several, tiers that nest.
void check(const Machine& machine);

}  // namespace heddle::topology
