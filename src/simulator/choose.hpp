// What the software on a machine runs for a message: by the choices of the machine file, or by
// Heddle's own selection where it has none.
#pragma once

#include <cstddef>
#include <string>

#include "collectives/schedule.hpp"
#include "topology/machine.hpp"

namespace heddle::simulator {

struct Request {
  base::Collective collective = base::Collective::all_reduce;
  std::size_t bytes = 0;  // of the larger buffer of a rank
  int ranks = 0;
  int adapters = -1;           // as in Job
  std::string algorithm = {};  // "": the software's choice
  int channels = 0;            // 0: the software's choice
};

struct Chosen {
  const collectives::Algorithm* algorithm;
  collectives::Shape shape;
  topology::Protocol protocol;
  std::string why;  // for people
};

// Fails with heddleInvalidArgument for an algorithm that is not known or cannot do it.
Chosen choose(const topology::Machine& machine, const Request& request);

}  // namespace heddle::simulator
