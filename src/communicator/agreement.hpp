// HEDDLE_CHECK: whether all ranks call the same operation.
//
// A rank tells the root what it calls when the operation starts, and moves nothing before the root
// has answered. So the root hears of one operation at a time, and compares texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "communicator/operation.hpp"

namespace heddle::communicator {

// What must be the same on every rank: the name of the collective, then a line for each of counts,
// type, reduction and root that it has, and its number. Requires a call that is everybody's.
// The counts of an all-to-all-v are not among them: each is the business of two ranks.
std::string lines_to_agree(const Operation& operation);

// The root's side.
class Agreement {
 public:
  // Says that a rank, whose name for people is `name`, calls operation `number`.
  void add(int rank, const std::string& name, std::uint64_t number, std::string lines);

  // Ranks that have said what they call, and whether they differ.
  std::size_t ranks() const { return ranks_; }
  bool differ() const { return versions_.size() > 1; }
  std::uint64_t number() const { return number_; }
  // Since the first rank said so. Requires a rank.
  double seconds() const { return base::seconds_since(since_); }

  // The first rank of the fewest that call alike, and a sentence with both sides and the first
  // property in which they differ. Requires that they differ.
  struct Difference {
    int rank;
    std::string text;
  };
  Difference difference() const;

  // The next operation.
  void clear();

 private:
  struct Caller {
    int rank;
    std::string name;
  };
  // Those who call alike: nearly always all.
  struct Version {
    std::string lines;
    std::vector<Caller> callers;
  };
  // The callers by what their line `index` says, the most first.
  struct Side {
    std::string line;
    std::vector<Caller> callers;
  };
  std::vector<Side> sides(std::size_t index) const;
  std::size_t first_difference() const;

  std::vector<Version> versions_;
  std::size_t ranks_ = 0;
  std::uint64_t number_ = 0;
  base::Clock::time_point since_;
};

}  // namespace heddle::communicator
