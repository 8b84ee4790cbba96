// The race of the candidates for one cell: short samples, all candidates in turn, round after
// round, so that whatever else the machine does falls on all of them; who is far behind drops out.
//
// Everything here is computed from numbers that all ranks share, so that all take the same turns.
#pragma once

#include <functional>
#include <vector>

#include "tune/stopwatch.hpp"

namespace heddle::bench::tune {

struct Timed {
  Candidate candidate;
  std::vector<double> samples;  // seconds of one operation
  int operations = 1;           // of a sample
  bool stayed = true;           // to the end of the race

  double median() const;
  double fastest() const;
  // How far the median may be off, as a share of it: the standard error of a median, by the
  // quartiles.
  double noise() const;
};

struct Outcome {
  Cell cell;
  std::vector<Timed> timed;  // those that stayed, best median first; then the others
  int left_out = 0;          // for want of time

  const Timed& best() const { return timed.front(); }
  // Null when it was not measured.
  const Timed* find(const Candidate& candidate) const;
};

struct RaceLimits {
  // In all: half of them for the candidates to enter the race, the rest for further rounds.
  double seconds = 1;
  int rounds = 201;      // at most, with the one that is part of entering
  int least_rounds = 1;  // whatever the time
  // Slower than the best by more than these drops out: after the second round, the
  // fourth, the ninth.
  double first_drop = 2, second_drop = 1.25, third_drop = 1.12;
};

// The first candidate enters whatever the time, the others in their order while there is some.
// Those of them that `keep` names enter in any case and are never dropped; `more` gives further
// candidates that are tried when one is among the best after the first round (may be empty). At
// least one candidate is required.
Outcome race(Stopwatch& stopwatch, const Cell& cell, const std::vector<Candidate>& candidates,
             const RaceLimits& limits, const std::vector<Candidate>& keep = {},
             const std::function<std::vector<Candidate>(const Candidate&)>& more = {});

// Two races for one cell as one, the second among candidates of the first: all samples together,
// and those stayed that stayed in the second.
Outcome pooled(const Outcome& first, const Outcome& second);

}  // namespace heddle::bench::tune
