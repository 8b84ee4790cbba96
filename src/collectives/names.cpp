#include "collectives/names.hpp"

#include "base/error.hpp"

namespace heddle::collectives {

std::string known_algorithms() {
  std::string names;
  for (const Algorithm& algorithm : algorithms())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
  return names;
}

const Algorithm& required_algorithm(std::string_view name, std::string_view field,
                                    std::string_view also) {
  const Algorithm* const algorithm = algorithm_named(name);
  if (algorithm == nullptr)
    base::fail(heddleInvalidArgument, "{}: \"{}\" is not known; allowed are {}{}", field, name,
               also, known_algorithms());
  return *algorithm;
}

base::Collective required_collective(std::string_view name, std::string_view field) {
  const auto collective = base::collective_named(name);
  if (!collective)
    base::fail(heddleInvalidArgument, "{}: \"{}\" is not known; allowed are {}", field, name,
               base::known_collectives());
  return *collective;
}

}  // namespace heddle::collectives
