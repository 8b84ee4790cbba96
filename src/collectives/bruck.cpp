// Bruck's all-to-all: a logarithm of steps, each one packed message, for blocks so small that what
// a message costs counts more than sending a byte several times.
//
// The block that goes j ranks further travels by the bits of j: in step k every rank sends all
// blocks whose j has bit k to the rank 2^k further, where they either are at home or wait for the
// step of j's next bit. There is no scratch: a block that goes on is written from the slot where it
// came straight into the message of that later step, which is open until its last block. Each step
// has its own peer, hence its own pipe.
//
//   steps                 ceil(log2 n), as many messages
//   bytes sent by a rank  up to n / 2 * block a step: log2 n / 2 times the least that is possible
//   parts of a message    up to n / 2
//   price                 log2 n * (alpha + n / 2 * block * beta)
//
// The message of step k is whole when those of the steps before were read, which their senders made
// whole before: by induction over k nobody waits for ever. A pipe carries one message a round; one
// slot suffices.
//
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", IEEE Trans. Parallel Distrib. Syst. 8
// (1997). All-gather by the same idea is in aggregated_trees.cpp.
#include <algorithm>

#include "collectives/generators.hpp"
#include "collectives/powers.hpp"

namespace heddle::collectives {
namespace {

Lane lane_of(const Shape& shape, int rank, int channel) {
  const int n = shape.ranks;
  if (n == 1) return lane_of_one(shape, 1, channel);
  const auto at = [&](int distance) { return (rank + distance + n) % n; };
  // The distances of the blocks in each step's message, in order: the same for every rank.
  std::vector<std::vector<int>> messages(static_cast<std::size_t>(floor_log2(n - 1)) + 1);
  Lane lane{{channel, {input(rank)}, {output(rank)}}};
  const auto send = [&](int j, int bits_left, End source) {
    const int step = lowest_bit(bits_left);
    messages[static_cast<std::size_t>(floor_log2(step))].push_back(j);
    lane.push_back({channel, {source}, {peer(at(step))}});
  };
  for (int step = 1; step < n; step *= 2)
    for (int j = step; j < n; j += 2 * step) send(j, j, input(at(j)));
  for (std::size_t k = 0; k < messages.size(); ++k) {
    const int step = 1 << k;
    for (const int j : messages[k]) {
      const End source = peer(at(-step));
      if (const int bits_left = j & -(2 * step); bits_left != 0)
        send(j, bits_left, source);
      else
        lane.push_back({channel, {source}, {output(at(-j))}});
    }
  }
  return packed(std::move(lane));
}

// The most numbers below n that have a bit in common.
int most_parts(const Shape& shape) {
  int most = 1;
  for (int step = 1; step < shape.ranks; step *= 2) {
    const int rest = shape.ranks % (2 * step);
    most = std::max(most, shape.ranks / (2 * step) * step + std::max(0, rest - step));
  }
  return most;
}

}  // namespace

constinit const Algorithm kBruck{
    .name = "bruck",
    .supports = [](base::Collective c) { return c == base::Collective::all_to_all; },
    .pieces = [](const Shape& shape) { return shape.channels; },
    .lane = lane_of,
    .parts = most_parts,
};

}  // namespace heddle::collectives
