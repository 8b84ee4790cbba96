#include "collectives/rank_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::collectives::proof {

RankSets::RankSets(int ranks)
    : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64), scratch_(words_) {
  const auto set_bit = [this](int rank) {
    scratch_[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
  };
  for (int rank = 0; rank < ranks; ++rank) {
    std::fill(scratch_.begin(), scratch_.end(), 0);
    set_bit(rank);
    id_of_scratch();
  }
  for (int rank = 0; rank < ranks; ++rank) set_bit(rank);
  everybody_ = id_of_scratch();
}

int RankSets::unite(int a, int b) {
  const std::uint64_t* x = &bits_[static_cast<std::size_t>(a) * words_];
  const std::uint64_t* y = &bits_[static_cast<std::size_t>(b) * words_];
  for (std::size_t w = 0; w < words_; ++w) {
    if ((x[w] & y[w]) != 0) return kOverlap;
    scratch_[w] = x[w] | y[w];
  }
  return id_of_scratch();
}

int RankSets::id_of_scratch() {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : scratch_) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  const auto [first, last] = ids_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto* known = &bits_[static_cast<std::size_t>(it->second) * words_];
    if (std::equal(scratch_.begin(), scratch_.end(), known)) return it->second;
  }
  const int id = static_cast<int>(bits_.size() / words_);
  bits_.insert(bits_.end(), scratch_.begin(), scratch_.end());
  ids_.emplace(hash, id);
  return id;
}

bool RankSets::contains(int set, int rank) const {
  const std::size_t word =
      static_cast<std::size_t>(set) * words_ + static_cast<std::size_t>(rank) / 64;
  return (bits_[word] >> (rank % 64) & 1) != 0;
}

std::string RankSets::to_text(int set) const {
  std::string text;
  int count = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!contains(set, rank)) continue;
    int last = rank;
    while (last + 1 < ranks_ && contains(set, last + 1)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
    if (last > rank) text += fmt::format("-{}", last);
    count += last - rank + 1;
    rank = last;
  }
  return fmt::format("{} {}", count == 1 ? "rank" : "ranks", text);
}

}  // namespace heddle::collectives::proof
