// Who is at fault when operations stand still: what the root concludes from what it knows of every
// rank. Pure functions; the root does the listening.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "communicator/control_messages.hpp"

namespace heddle::communicator {

// A host is gone when no packet comes from it for so long (silent_seconds) while no operation
// moves: either alone may be a rail that was pulled, or a rank that computes.
inline constexpr double kVanishedSeconds = 30;
inline constexpr std::string_view kVanished =
    "has vanished: nothing comes from its host any more (no power there, or no network to it), and "
    "no operation moves";

struct RankState {
  int rank = -1;
  std::string name;           // "rank 2 on host h (pid 7)"
  std::uint64_t started = 0;  // operations
  bool stands_still = false;  // its operation has not moved for kVanishedSeconds
  bool left = false;          // has said leave, and waits for the others to
  double silent = 0;          // seconds since it has said anything
  double host_silent = 0;     // seconds since its kernel has shown itself
};

// A rank that is silent comes first, then the one furthest behind, then whom the operation waits
// for. Who reports is never to blame.
Failure blame_for(const Stuck& stuck, int reporter, const std::vector<RankState>& ranks);

// The host that has vanished while every other rank waits, if one has.
std::optional<Failure> find_vanished(const std::vector<RankState>& ranks);

}  // namespace heddle::communicator
