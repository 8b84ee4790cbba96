// Machine files: topology::Machine as JSON. docs/simulator.md describes the fields. A number may
// stand alone or as {"value": 12.5, "origin": "data sheet"}.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.hpp"

namespace heddle::topology {

// What somebody knows about machines beside topology::check: fails as that does, with the field
// first, to which the reader adds the line.
using MachineCheck = std::function<void(const Machine&)>;

// Fails with heddleInvalidArgument: "name:line: field: what is wrong; what is allowed".
Machine parse_machine(std::string_view text, const std::string& name,
                      const MachineCheck& more = {});
// A preset of that name, or else the file. Fails like parse_machine and base::read_file, or with
// heddleSystemError when there is no such file; the message lists the presets. Whoever knows
// algorithms calls tuner::load_machine, which checks their names.
Machine load_machine(const std::string& name_or_path, const MachineCheck& more = {});
// What parse_machine reads back.
std::string machine_json(const Machine& machine);

struct Preset {
  std::string_view name;
  std::string_view json;
};
const std::vector<Preset>& presets();

}  // namespace heddle::topology
