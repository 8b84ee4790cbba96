#include "collectives/rank_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace heddle::collectives::proof {

RankSets::RankSets(int ranks)
    : ranks_(ranks),
      words_((static_cast<std::size_t>(ranks) + 63) / 64),
      scratch_(words_),
      table_(256, -1) {
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
  int& place = place_of(scratch_.data());
  if (place >= 0) return place;
  const auto id = bits_.size() / words_;
  place = static_cast<int>(id);
  bits_.insert(bits_.end(), scratch_.begin(), scratch_.end());
  if (2 * id > table_.size()) grow();
  return static_cast<int>(id);
}

int& RankSets::place_of(const std::uint64_t* bits) {
  std::uint64_t hash = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    hash = (hash ^ bits[w]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  for (std::size_t i = hash % table_.size();; i = (i + 1) % table_.size()) {
    if (table_[i] < 0) return table_[i];
    const std::uint64_t* known = &bits_[static_cast<std::size_t>(table_[i]) * words_];
    if (std::equal(bits, bits + words_, known)) return table_[i];
  }
}

void RankSets::grow() {
  table_.assign(2 * table_.size(), -1);
  for (std::size_t id = 0; id * words_ < bits_.size(); ++id)
    place_of(&bits_[id * words_]) = static_cast<int>(id);
}

bool RankSets::contains(int set, int rank) const {
  const std::size_t word =
      static_cast<std::size_t>(set) * words_ + static_cast<std::size_t>(rank) / 64;
  return (bits_[word] >> (rank % 64) & 1) != 0;
}

std::string RankSets::to_text(int set) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < ranks_; ++rank)
    if (contains(set, rank)) ranks.push_back(rank);
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", base::ranges_text(ranks, ", "));
}

}  // namespace heddle::collectives::proof
