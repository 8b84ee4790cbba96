// Names that people give, refused with the list of what there is.
#pragma once

#include <string>
#include <string_view>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// "ring, tree, ...".
std::string known_algorithms();

// algorithm_named. Fails with heddleInvalidArgument where there is none, in a text that begins with
// `field`; `also` is what else is allowed there: "auto, ".
const Algorithm& required_algorithm(std::string_view name, std::string_view field,
                                    std::string_view also = "");
// base::collective_named, likewise.
base::Collective required_collective(std::string_view name, std::string_view field);

}  // namespace heddle::collectives
