#include "collectives/schedule.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

template <const Algorithm&... Each>
std::vector<Algorithm> copies_of(AlgorithmList<Each...>) {
  return {Each...};
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> all = [] {
    std::vector<Algorithm> list = copies_of(FlatAlgorithms{});
    list.insert(list.end(), hierarchies().begin(), hierarchies().end());
    return list;
  }();
  return all;
}

const Algorithm* algorithm_named(std::string_view name) {
  const auto same = [](char known, char given) { return known == (given == '_' ? '-' : given); };
  for (const Algorithm& algorithm : algorithms())
    if (std::equal(algorithm.name.begin(), algorithm.name.end(), name.begin(), name.end(), same))
      return &algorithm;
  return nullptr;
}

Lane packed(Lane lane) {
  // Backwards: the last chunk to or from each peer ends the message.
  std::set<int> sent_to;
  std::set<int> received_from;
  for (auto move = lane.rbegin(); move != lane.rend(); ++move) {
    for (End& end : move->destinations)
      if (end.where == End::Where::peer) end.more = !sent_to.insert(end.index).second;
    for (End& end : move->sources)
      if (end.where == End::Where::peer) end.more = !received_from.insert(end.index).second;
  }
  return lane;
}

Schedule schedule_of(const Algorithm& algorithm, const Shape& shape) {
  Schedule schedule{shape, algorithm.pieces(shape), {}, algorithm.parts(shape)};
  for (int rank = 0; rank < shape.ranks; ++rank) {
    auto& lanes = schedule.lanes.emplace_back();
    for (int channel = 0; channel < shape.channels; ++channel)
      lanes.push_back(algorithm.lane(shape, rank, channel));
  }
  return schedule;
}

}  // namespace heddle::collectives
