#include "report.hpp"

#include <fmt/format.h>

#include <exception>

#include "heddle/version.h"

namespace heddle::tools {
namespace {

template <typename Step>
void attempt(Report& report, Step step) {
  try {
    step();
  } catch (const std::exception& error) {
    report.problems.emplace_back(error.what());
  }
}

void look_at_interfaces(Report& report) {
  const auto all = topology::interfaces();
  try {
    report.interfaces = topology::judge_interfaces(all, report.settings.iface);
  } catch (const std::exception& error) {
    // A job ends here; the page still shows what it would do without the filter.
    report.problems.emplace_back(error.what());
    report.interfaces = topology::judge_interfaces(all, "");
  }
  std::vector<topology::Interface> used;
  for (const auto& one : report.interfaces)
    if (one.unused_because.empty()) used.push_back(one.interface);
  for (const auto& address : topology::advertised_addresses(used))
    report.advertised.push_back(address.text);
  if (report.advertised.empty())
    report.problems.emplace_back("no network interface is up with an address, not even loopback");
}

void look_at_providers(Report& report) {
  std::vector<std::string> names;
  for (const auto& one : report.interfaces)
    if (one.unused_because.empty()) names.push_back(one.interface.name);
  report.providers = transport::fabric::survey(report.settings, names);
  report.chosen = transport::fabric::choose_provider(report.settings, names);
}

}  // namespace

Report make_report(const char* const* environment) {
  Report report;
  report.settings = base::load_settings(nullptr, "", report.warnings);
  attempt(report, [&] { report.settings = base::load_settings(environment, "", report.warnings); });
  attempt(report, [&] { report.host = topology::this_host(report.settings); });
  attempt(report, [&] {
    report.machine = topology::machine_facts();
    report.caches = topology::cache_sizes();
    report.place = topology::cpu_place();
    report.usable_cpus = topology::usable_cpus();
  });
  attempt(report, [&] { look_at_interfaces(report); });
  attempt(report, [&] { look_at_providers(report); });
  return report;
}

std::string version_text() {
  return fmt::format("{}.{}.{}", HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH);
}

}  // namespace heddle::tools
