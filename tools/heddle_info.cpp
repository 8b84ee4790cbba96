// heddle-info: what Heddle finds on this machine and what a job would choose, with the reasons.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "metrics_page.hpp"
#include "report.hpp"
#include "settings_page.hpp"

namespace {

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

int run(bool json, bool settings, bool markdown, const std::vector<std::string>& metrics) {
  using namespace heddle;
  if (!metrics.empty()) {
    for (const auto& file : metrics) print(tools::metrics_text(file));
    return 0;
  }
  if (markdown) {
    print(tools::settings_markdown());
    return 0;
  }
  if (settings) {
    std::vector<std::string> warnings;
    print(tools::settings_text(base::load_settings(environ, "", warnings)));
    for (const auto& warning : warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
    return 0;
  }
  const tools::Report report = tools::make_report(environ);
  print(json ? tools::json_of(report) : tools::text_of(report));
  return report.problems.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{
      "Prints this machine, its network interfaces, the libfabric providers, and what a job of\n"
      "Heddle would choose here under the HEDDLE_ variables of the environment. Exits with 1 when\n"
      "a job would fail."};
  bool json = false;
  bool settings = false;
  bool markdown = false;
  std::vector<std::string> metrics;
  const auto version = "heddle " + heddle::tools::version_text();
  app.add_flag("--json", json, "Print all of it as JSON");
  app.add_flag("--settings", settings, "Print every setting, its value and where it came from");
  app.add_flag("--settings-markdown", markdown, "Print docs/settings.md");
  app.add_option("--metrics", metrics,
                 "Print what processes of a job wrote to HEDDLE_METRICS_FILE: operations, and how\n"
                 "their rails fare");
  app.set_version_flag("--version", version);
  CLI11_PARSE(app, count, words);
  try {
    const int status = run(json, settings, markdown, metrics);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::perror("heddle-info: standard output");
      return 1;
    }
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle-info: %s\n", error.what());
    return 1;
  }
}
