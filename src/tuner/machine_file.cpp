#include "tuner/machine_file.hpp"

#include "base/error.hpp"
#include "collectives/names.hpp"
#include "topology/machine_json.hpp"

namespace heddle::tuner {
namespace {

void check_named(const char* list, std::size_t index, const std::string& name) {
  collectives::required_algorithm(name, fmt::format("software.{}[{}].algorithm", list, index));
}

}  // namespace

void check_algorithms(const topology::Machine& machine) {
  const topology::SoftwareModel& software = machine.software;
  for (std::size_t i = 0; i < software.tuned.size(); ++i)
    check_named("tuned", i, software.tuned[i].algorithm);
  for (std::size_t i = 0; i < software.choices.size(); ++i)
    check_named("choices", i, software.choices[i].algorithm);
}

topology::Machine load_machine(const std::string& name_or_path) {
  return topology::load_machine(name_or_path, check_algorithms);
}

}  // namespace heddle::tuner
