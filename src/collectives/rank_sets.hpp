// Sets of ranks as small numbers: each set is kept once, as bits, and known by its id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::collectives::proof {

class RankSets {
 public:
  static constexpr int kOverlap = -1;

  // The ids 0..ranks-1 are the sets of one rank each.
  explicit RankSets(int ranks);

  int everybody() const { return everybody_; }
  // The union of two sets, or kOverlap when they have a rank in common.
  int unite(int a, int b);
  // "ranks 0-3, 7".
  std::string to_text(int set) const;

 private:
  int id_of_scratch();
  // Where the set of these bits is in the table, or the empty place where it belongs.
  int& place_of(const std::uint64_t* bits);
  void grow();
  bool contains(int set, int rank) const;

  int ranks_;
  std::size_t words_;                // of one set
  std::vector<std::uint64_t> bits_;  // all sets, one after another
  std::vector<std::uint64_t> scratch_;
  std::vector<int> table_;  // ids by hash of the bits, open addressing; -1 is empty
  int everybody_ = 0;
};

}  // namespace heddle::collectives::proof
