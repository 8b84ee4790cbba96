// What heddle-info finds out, apart from how it is printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "topology/cpu.hpp"
#include "topology/host.hpp"
#include "topology/interfaces.hpp"
#include "transport/fabric/provider.hpp"

namespace heddle::tools {

struct Report {
  base::Settings settings;
  topology::Host host;
  topology::MachineFacts machine;
  topology::CacheSizes caches;
  topology::CpuPlace place;
  int usable_cpus = 0;
  std::vector<topology::JudgedInterface> interfaces;
  std::vector<std::string> advertised;  // addresses, best first
  std::vector<transport::fabric::ProviderReport> providers;
  // What a job would use between hosts; nothing when it would fail.
  std::optional<transport::fabric::ChosenProvider> chosen;
  std::vector<std::string> warnings;  // of settings
  std::vector<std::string> problems;  // each would end a job's start
};

// Looks at this machine under the settings of `environment` (as environ(7)). A part that fails is a
// problem of the report; the other parts are still there, with default settings in place of bad
// ones.
Report make_report(const char* const* environment);

std::string version_text();  // "0.1.0"
std::string text_of(const Report& report);
std::string json_of(const Report& report);

}  // namespace heddle::tools
