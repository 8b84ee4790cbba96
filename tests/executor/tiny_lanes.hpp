// Hand-written algorithms for tests of single properties.
#pragma once

#include "collectives/schedule.hpp"

namespace heddle::test {

// Two ranks exchange their inputs and both reduce, in the order of the ranks.
inline collectives::Lane exchange_lane(const collectives::Shape&, int rank, int channel) {
  using namespace collectives;
  const int other = 1 - rank;
  return {{channel, {input(0)}, {peer(other)}},
          {channel,
           {rank == 0 ? input(0) : peer(0), rank == 0 ? peer(1) : input(0)},
           {output(0)},
           true}};
}

// Rank 0 reduces and sends back what it keeps.
inline collectives::Lane fan_lane(const collectives::Shape&, int rank, int channel) {
  using namespace collectives;
  if (rank == 0) return {{channel, {input(0), peer(1)}, {output(0), peer(1)}, true}};
  return {{channel, {input(0)}, {peer(0)}}, {channel, {peer(0)}, {output(0)}}};
}

// Both ranks receive before they send: a deadlock by design.
inline collectives::Lane stuck_lane(const collectives::Shape&, int rank, int channel) {
  using namespace collectives;
  return {{channel, {peer(1 - rank)}, {output(0)}}, {channel, {input(0)}, {peer(1 - rank)}}};
}

inline collectives::Algorithm tiny(collectives::Lane (*lane)(const collectives::Shape&, int, int)) {
  return {"tiny", [](base::Collective c) { return c == base::Collective::all_reduce; },
          [](const collectives::Shape& shape) { return shape.channels; }, lane};
}

inline constexpr collectives::Shape two_ranks(int channels) {
  return {base::Collective::all_reduce, 2, channels};
}

}  // namespace heddle::test
