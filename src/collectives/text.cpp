#include "collectives/text.hpp"

#include <fmt/format.h>

namespace heddle::collectives {
namespace {

std::string joined(const std::vector<End>& ends, std::string_view separator) {
  std::string text;
  for (const End& end : ends) {
    if (!text.empty()) text += separator;
    text += to_text(end);
  }
  return text;
}

}  // namespace

std::string to_text(const End& end) {
  switch (end.where) {
    case End::Where::input: return fmt::format("input {}", end.index);
    case End::Where::output: return fmt::format("output {}", end.index);
    case End::Where::peer: return fmt::format("peer {}{}", end.index, end.more ? " ..." : "");
  }
  return fmt::format("end of kind {}", static_cast<int>(end.where));
}

std::string to_text(const Move& move) {
  return fmt::format("piece {}: {} -> {}{}", move.piece, joined(move.sources, " + "),
                     joined(move.destinations, ", "), move.completes ? " (completes)" : "");
}

std::string to_text(const Shape& shape, const Algorithm& algorithm, int rank) {
  std::string text =
      fmt::format("{} {}: rank {} of {}, {} pieces\n", algorithm.name,
                  base::name_of(shape.collective), rank, shape.ranks, algorithm.pieces(shape));
  for (int channel = 0; channel < shape.channels; ++channel) {
    text += fmt::format("channel {}\n", channel);
    int index = 0;
    for (const Move& move : algorithm.lane(shape, rank, channel))
      text += fmt::format("  {:3} {}\n", index++, to_text(move));
  }
  return text;
}

}  // namespace heddle::collectives
