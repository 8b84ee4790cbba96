// Sets of ranks as small numbers: each set is kept once, as bits, and known by its id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
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
  bool contains(int set, int rank) const;

  int ranks_;
  std::size_t words_;                // of one set
  std::vector<std::uint64_t> bits_;  // all sets, one after another
  std::vector<std::uint64_t> scratch_;
  std::unordered_multimap<std::uint64_t, int> ids_;  // by hash of the bits
  int everybody_ = 0;
};

}  // namespace heddle::collectives::proof
