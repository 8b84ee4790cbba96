// Machine files, with the names of algorithms in them checked: topology reads the files and does
// not know what algorithms there are.
#pragma once

#include <string>

#include "topology/machine.hpp"

namespace heddle::tuner {

// Fails with heddleInvalidArgument, beginning with the field, where the machine's software names an
// algorithm that is not there.
void check_algorithms(const topology::Machine& machine);

// topology::load_machine, refusing such names by file, line and field.
topology::Machine load_machine(const std::string& name_or_path);

}  // namespace heddle::tuner
