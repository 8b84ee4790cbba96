// The parts of verify(): form, pairing of messages, and the run on symbols. Channels share neither
// pipes nor chunks, so each is proved by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/verify.hpp"

namespace heddle::collectives::proof {

// A fault of a move, its text preceded by rank, channel and the move itself.
Fault fault_at(const Schedule& schedule, FaultKind kind, int rank, int channel, std::size_t move,
               const std::string& detail);

// Ends, pieces and peers that can be, on all channels. The other parts require it.
std::optional<Fault> check_form(const Schedule& schedule);

// The pipes of one channel, and which of them every move waits for.
struct Pairing {
  struct Pipe {
    int from;
    int to;
    std::size_t messages = 0;  // a round; each part counts
    std::size_t parts = 1;     // the most of one message
  };
  struct MoveUse {
    std::size_t first;  // index into LaneUse::pipes: those received from, then those sent to
    std::size_t receives;
    std::size_t sends;
  };
  struct LaneUse {
    std::vector<MoveUse> moves;
    std::vector<int> pipes;
  };

  std::vector<Pipe> pipes;
  std::vector<LaneUse> lanes;  // by rank
};

// Pairs the messages of a channel: a pipe keeps order, so its k-th chunk must be meant by its k-th
// receive, as the same part of the same message. Pieces that agree give lengths that agree.
std::optional<Fault> pair_messages(const Schedule& schedule, int channel, Pairing& pairing);

// Runs the rounds of a channel on symbols.
std::optional<Fault> run_on_symbols(const Schedule& schedule, int channel, const Pairing& pairing,
                                    const VerifyOptions& options);

}  // namespace heddle::collectives::proof
