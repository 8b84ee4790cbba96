// What may run a collective: an algorithm, on so many channels, in chunks of some size.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "topology/machine.hpp"
#include "tune/world.hpp"

namespace heddle::bench::tune {

struct Candidate {
  std::string algorithm;
  int channels = 1;
  std::size_t message_bytes = 0;  // the most of one message; 0: a slot

  auto operator<=>(const Candidate&) const = default;
  std::string text() const;  // "ring x2", "ring x2 in 64 KiB"
};

// Every algorithm that can do the collective in that world, on 1, 2 and 4 channels, each with whole
// slots as chunks. Of several that have the very same lanes there, such as star, binomial and chain
// broadcasts between two ranks, only the first.
std::vector<Candidate> candidates_of(const World& world, base::Collective collective,
                                     std::size_t slot_bytes);
// The same in smaller chunks, as far as that makes a difference to the cell.
std::vector<Candidate> in_smaller_chunks(const Candidate& candidate, const World& world,
                                         const Cell& cell, std::size_t slot_bytes);

// What candidates_of() would call the pick.
Candidate candidate_of(const tuner::Pick& pick, const World& world, base::Collective collective,
                       std::size_t slot_bytes);

// A machine file by which the library runs the candidate, whatever the collective and the size.
topology::Machine forcing(const Candidate& candidate, const World& world);

}  // namespace heddle::bench::tune
