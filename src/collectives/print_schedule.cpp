// heddle-schedule: prints the lanes of all ranks, for people and for
// docs/make_schedule_diagrams.py.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

#include "collectives/text.hpp"

namespace {

using heddle::collectives::Algorithm;
using heddle::collectives::Shape;

// A whole number of at least 1, or 0 when the text is none.
int positive(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0 ? value : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape{heddle::base::Collective::all_reduce, 0, 1};
  const Algorithm* algorithm = nullptr;
  std::optional<heddle::base::Collective> collective;
  if (argc == 4 || argc == 5) {
    algorithm = heddle::collectives::algorithm_named(argv[1]);
    collective = heddle::base::collective_named(argv[2]);
    shape.collective = collective.value_or(shape.collective);
    shape.ranks = positive(argv[3]);
    if (argc == 5) shape.channels = positive(argv[4]);
  }
  if (algorithm == nullptr || !collective || shape.ranks == 0 || shape.channels == 0) {
    std::string names;
    for (const Algorithm& each : heddle::collectives::algorithms())
      names += fmt::format("{}{}", names.empty() ? "" : "|", each.name);
    fmt::print(stderr, "usage: heddle-schedule {} COLLECTIVE RANKS [CHANNELS]\n", names);
    return 2;
  }
  if (!algorithm->supports(shape.collective)) {
    fmt::print(stderr, "{} has no {}\n", algorithm->name, heddle::base::name_of(shape.collective));
    return 1;
  }
  for (int rank = 0; rank < shape.ranks; ++rank) fmt::print("{}", to_text(shape, *algorithm, rank));
  return 0;
}
