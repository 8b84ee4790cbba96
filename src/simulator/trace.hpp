// What happened when, for Chrome's or Perfetto's viewer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/time.hpp"

namespace heddle::simulator {

struct Trace {
  struct MoveSpan {
    int rank, channel;
    std::uint32_t move;  // of the lane
    std::uint32_t round, piece;
    std::uint64_t bytes;
    Time begin, end;
  };
  struct RailSpan {
    int host, adapter;
    bool send;
    int from, to, channel;
    std::uint64_t bytes;  // on the wire
    Time begin, end;
  };
  std::vector<MoveSpan> moves;
  std::vector<RailSpan> rails;
};

// The Trace Event Format: a process for each host, a thread for each rank's channel and for each
// rail's sending and receiving side. `title` is shown with every process and says "simulated".
std::string chrome_json(const Trace& trace, int ranks_per_host, const std::string& title);

}  // namespace heddle::simulator
