#include "communicator/planner_files.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "collectives/schedule_json.hpp"
#include "topology/machine_json.hpp"
#include "tuner/machine_file.hpp"

namespace heddle::communicator {
namespace {

std::string digest_line(const char* variable, const std::string& text) {
  return fmt::format("{}=contents {}\n", variable, base::digest(text));
}

topology::Machine load_machine(const std::string& path) {
  try {
    return tuner::load_machine(path);
  } catch (const base::Error& error) {
    base::fail(heddleInvalidArgument, "HEDDLE_TUNING_FILE={}: {}", path, error.what());
  }
}

// What HEDDLE_EAGER_BYTES may be.
constexpr std::size_t kMostEagerBytes = 64 * 1024;

bool was_set(const base::Settings& settings, std::string_view name) {
  const auto table = base::settings_table();
  for (std::size_t i = 0; i < settings.sources.size(); ++i)
    if (table[i].name == name) return settings.sources[i] != "default";
  return false;
}

}  // namespace

PlannerFiles load_planner_files(const base::Settings& settings) {
  PlannerFiles files;
  if (settings.schedule.empty()) {
    files.digests = "HEDDLE_SCHEDULE=\n";
  } else {
    const std::string name = "HEDDLE_SCHEDULE=" + settings.schedule;
    const std::string text = base::read_file(settings.schedule, name);
    files.schedule = collectives::schedule_from_json(text, name, settings.slots);
    files.digests = digest_line("HEDDLE_SCHEDULE", text);
  }
  if (settings.tuning_file.empty()) {
    files.digests += "HEDDLE_TUNING_FILE=\n";
  } else {
    files.machine = load_machine(settings.tuning_file);
    files.digests += digest_line("HEDDLE_TUNING_FILE", topology::machine_json(*files.machine));
  }
  return files;
}

base::Settings& apply_tuning(base::Settings& settings, const PlannerFiles& files) {
  if (!files.machine || files.machine->adapters.eager_bytes == topology::kAnyBytes) return settings;
  if (was_set(settings, "HEDDLE_EAGER_BYTES")) return settings;
  settings.eager_bytes = std::min(files.machine->adapters.eager_bytes, kMostEagerBytes);
  return settings;
}

}  // namespace heddle::communicator
