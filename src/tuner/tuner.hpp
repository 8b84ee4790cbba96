// Picks what an operation runs: the algorithm, on how many channels and in chunks of what size.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/select.hpp"
#include "topology/machine.hpp"
#include "tuner/price.hpp"

namespace heddle::tuner {

struct Request {
  collectives::SelectionRequest selection;  // its slot_bytes must be known
  std::size_t block_bytes;                  // of one block of the collective
  int hosts;                                // 1 where all ranks share memory
};

struct Pick {
  const collectives::Algorithm* algorithm;
  int channels;
  std::size_t message_bytes;  // the most of one message, which its chunks share; up to a slot
  std::string why;            // for the log
  bool force_refused = false;
};

// What a candidate would take, by the machine model.
struct Priced {
  const collectives::Algorithm* algorithm;
  int channels;
  std::size_t message_bytes;
  double seconds;
};

// Not for several threads at once: prices are remembered.
class Tuner {
 public:
  // Without a machine, the table of collectives/select decides. Fails as check_algorithms does.
  explicit Tuner(std::optional<topology::Machine> machine);

  // Every rank must ask the same of the same machine. In this order: what the machine's file says
  // was measured best in such a world; the lowest price by its model; the table. What the request
  // forces replaces that alone: a forced algorithm has the channels and chunks that were measured
  // for it, or are cheapest for it. Fails as collectives::choose does.
  Pick pick(const Request& request);

  // Every candidate that the request allows, cheapest first. Requires a machine.
  std::vector<Priced> prices(const Request& request);

 private:
  // The row of that world and size, or null.
  const topology::Tuned* measured(const Request& request) const;
  const RoundPrice& round_of(const collectives::Algorithm& algorithm, const Request& request);

  std::optional<topology::Machine> machine_;
  using Key = std::tuple<const collectives::Algorithm*, base::Collective, int, int, int>;
  std::map<Key, RoundPrice> rounds_;  // by algorithm, collective, ranks, ranks a host, root
};

}  // namespace heddle::tuner
