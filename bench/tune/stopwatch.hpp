// Times operations; an interface, so that the race's tests can make up the times.
#pragma once

#include "tune/candidates.hpp"

namespace heddle::bench::tune {

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // Collective: runs the candidate so many times, back to back, and returns seconds of one
  // operation, by the rank that took longest. The same number on every rank.
  virtual double time(const Candidate& candidate, const Cell& cell, int operations) = 0;
  // Collective: seconds since some moment, by rank 0's clock.
  virtual double now() = 0;
};

}  // namespace heddle::bench::tune
