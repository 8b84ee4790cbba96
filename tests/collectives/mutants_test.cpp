// No small change to a right schedule goes unnoticed: every move is dropped, doubled, moved to
// another piece, has its mark flipped, and loses, changes and packs otherwise each of its ends in
// turn.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"
#include "proof_shapes.hpp"

namespace heddle::collectives {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const std::vector<int> kRanks = {3, 4};
#else
const std::vector<int> kRanks = {2, 3, 4, 5, 6};
#endif

using Mutation = std::function<void(Lane&, std::size_t)>;

// Mutations of a move that has `sources` and `destinations` ends, with their names.
std::vector<std::pair<std::string, Mutation>> mutations(const Schedule& schedule,
                                                        const Move& move) {
  const Shape shape = schedule.shape;
  std::vector<std::pair<std::string, Mutation>> all{
      {"drop", [](Lane& l, std::size_t m) { l.erase(l.begin() + static_cast<std::ptrdiff_t>(m)); }},
      {"flip completes", [](Lane& l, std::size_t m) { l[m].completes = !l[m].completes; }},
      {"next piece",
       [schedule](Lane& l, std::size_t m) { l[m].piece = (l[m].piece + 1) % schedule.pieces; }},
  };
  // Writing the same chunk twice from the same place is harmless.
  bool talks = false;
  for (const auto* ends : {&move.sources, &move.destinations})
    for (const End& end : *ends) talks |= end.where == End::Where::peer;
  if (talks)
    all.emplace_back("double", [](Lane& l, std::size_t m) {
      const Move copy = l[m];
      l.insert(l.begin() + static_cast<std::ptrdiff_t>(m), copy);
    });
  for (const auto side : {&Move::sources, &Move::destinations}) {
    const std::string name = side == &Move::sources ? "source " : "destination ";
    for (std::size_t e = 0; e < (move.*side).size(); ++e) {
      all.emplace_back("lose " + name + std::to_string(e), [side, e](Lane& l, std::size_t m) {
        auto& ends = l[m].*side;
        ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(e));
      });
      all.emplace_back("change " + name + std::to_string(e),
                       [side, e, shape](Lane& l, std::size_t m) {
                         End& end = (l[m].*side)[e];
                         end.index = (end.index + 1) % shape.ranks;
                       });
      if ((move.*side)[e].where == End::Where::peer)
        all.emplace_back("cut or join the message of " + name + std::to_string(e),
                         [side, e](Lane& l, std::size_t m) {
                           End& end = (l[m].*side)[e];
                           end.more = !end.more;
                         });
    }
  }
  return all;
}

void hunt(const Algorithm& algorithm, const Shape& shape) {
  const Schedule right = schedule_of(algorithm, shape);
  REQUIRE_FALSE(verify(right));
  for (std::size_t rank = 0; rank < right.lanes.size(); ++rank) {
    for (std::size_t channel = 0; channel < right.lanes[rank].size(); ++channel) {
      for (std::size_t m = 0; m < right.lanes[rank][channel].size(); ++m) {
        const Move& move = right.lanes[rank][channel][m];
        for (const auto& [name, mutate] : mutations(right, move)) {
          Schedule wrong = right;
          mutate(wrong.lanes[rank][channel], m);
          if (!verify(wrong))
            FAIL_CHECK(algorithm.name << " " << base::name_of(shape.collective) << ", "
                                      << shape.ranks << " ranks, rank " << rank << ", channel "
                                      << channel << ", move " << m << " (" << to_text(move)
                                      << ") survives: " << name);
        }
      }
    }
  }
}

TEST_CASE("no mutant of a schedule is taken for right") {
  for (const Algorithm& algorithm : algorithms())
    for (const int ranks : kRanks)
      for (const Shape& shape : shapes_of(algorithm, ranks, 2)) hunt(algorithm, shape);
}

}  // namespace
}  // namespace heddle::collectives
