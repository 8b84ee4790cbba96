// How far picks are from the best of all that was measured.
#pragma once

#include <string>
#include <vector>

#include "tune/race.hpp"

namespace heddle::bench::tune {

// One cell of the second pass.
struct Compared {
  Cell cell;
  Candidate best, tuned, model;
  double best_seconds = 0, tuned_seconds = 0, model_seconds = 0;  // medians
  int measured = 0;                                               // candidates
  int samples = 0;                                                // of the tuned pick

  double tuned_ratio() const { return tuned_seconds / best_seconds; }
  double model_ratio() const { return model_seconds / best_seconds; }
};

// Requires that the race kept both picks.
Compared compare(const Outcome& outcome, const Candidate& tuned, const Candidate& model);

struct Shares {
  double tuned = 0, model = 0;  // of the cells whose pick is within kClose of the best
};
inline constexpr double kClose = 1.05;
Shares shares_of(const std::vector<Compared>& cells);

// The table for people, with a line on the shares at its end.
std::string comparison_text(const std::vector<Compared>& cells);
// {"cells": [...], "within_5_percent": {"tuned": 0.97, "model": 0.61}}
std::string comparison_json(const std::vector<Compared>& cells, const World& world);

}  // namespace heddle::bench::tune
