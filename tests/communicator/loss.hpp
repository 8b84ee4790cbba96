// A job that loses a rank: four processes loop over all-reduce on one communicator and, on another,
// over a group of sends and receives in a ring. Something strikes one of them; every other gets an
// error in time, and goes on without it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace heddle::test {

inline constexpr int kRanksBeforeLoss = 4;

struct Loss {
  int victim;
  std::string settings;
  // What every other rank's errors must say.
  std::string blamed;
  // In each rank's process, before its first call; may be empty.
  std::function<void(int rank)> prepare;
  // The same, after it has joined; may be empty.
  std::function<void(int rank)> once_joined;
  std::function<void(pid_t victim)> strike;
  double within = 10;  // seconds: until all have their errors
  // The victim's process runs on, cut off from the others: it must get its errors as well.
  bool victim_runs_on = false;
};

void check_loss(const Loss& loss);

}  // namespace heddle::test
