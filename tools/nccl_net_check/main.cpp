// nccl_net_check: what a NCCL net plugin does when NCCL's threads drive it, without NCCL or a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "nccl_net_check/report.hpp"

namespace {

using namespace heddle;
using namespace heddle::net_check;

struct Request {
  Settings settings;
  std::vector<std::string> only;
  bool list = false;
  bool no_performance = false;
  std::optional<std::string> json;
};

constexpr const char* kProgram = "nccl_net_check";
constexpr int kUnusable = 2;  // the plugin cannot be asked at all, or the usage is wrong

void say_progress(std::size_t done, std::size_t all, const std::string& name) {
  if (!isatty(STDERR_FILENO)) return;
  fmt::print(stderr, "\r\033[K");
  if (!name.empty()) fmt::print(stderr, "[{}/{}] {} ...", done + 1, all, name);
  std::fflush(stderr);
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::vector<const Behaviour*> chosen(const std::vector<std::string>& only) {
  std::vector<const Behaviour*> result;
  for (const auto& behaviour : behaviours())
    if (only.empty() || std::find(only.begin(), only.end(), behaviour.name) != only.end())
      result.push_back(&behaviour);
  for (const auto& name : only)
    if (std::none_of(behaviours().begin(), behaviours().end(),
                     [&](const Behaviour& behaviour) { return behaviour.name == name; }))
      base::fail(heddleInvalidArgument, "--only: there is no '{}'; --list says what there is",
                 name);
  return result;
}

int list() {
  for (const auto& behaviour : behaviours())
    fmt::print("{:<16}  {}{}\n", behaviour.name, behaviour.meaning,
               behaviour.required ? "" : " (not required)");
  return 0;
}

// Opened before anything runs; null: none is wanted.
class JsonFile {
 public:
  explicit JsonFile(const std::optional<std::string>& path) : path_(path.value_or("")) {
    if (path && !(file_ = std::fopen(path_.c_str(), "w"))) fail();
  }
  JsonFile(const JsonFile&) = delete;
  ~JsonFile() {
    if (!file_) return;
    std::fclose(file_);
    std::remove(path_.c_str());  // nothing came of it
  }
  void write(const std::string& text) {
    if (!file_) return;
    const bool written = std::fwrite(text.data(), 1, text.size(), file_) == text.size();
    if (std::fclose(std::exchange(file_, nullptr)) != 0 || !written) fail();
  }

 private:
  [[noreturn]] void fail() const {
    base::fail_errno(errno, fmt::format("--json: cannot write '{}'", path_));
  }

  std::string path_;
  std::FILE* file_ = nullptr;
};

int run(const Request& request) {
  const auto& settings = request.settings;
  const auto all = chosen(request.only);
  JsonFile file(request.json);
  Report report;
  const Behaviour about{
      .name = "load", .meaning = "", .run = describe, .processes = 1, .shows_log = true};
  auto outcome = run(about, settings);
  if (outcome.verdict != Verdict::pass)
    base::fail(heddleSystemError, "{}: {}", settings.plugin, outcome.detail);
  report.about = outcome.data;
  print(header(settings, report.about) + "\n" + table_head());
  int faults = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    say_progress(i, all.size(), all[i]->name);
    report.rows.push_back({all[i]->name, run(*all[i], settings)});
    say_progress(i, all.size(), "");
    print(row(report.rows.back()));
    if (report.rows.back().outcome.verdict == Verdict::fail) ++faults;
  }
  if (!request.no_performance) {
    const Behaviour speed{
        .name = "speed", .meaning = "", .run = measure, .processes = 2, .extra = 30};
    say_progress(0, 1, speed.name);
    outcome = run(speed, settings);
    say_progress(0, 1, "");
    report.performance = outcome.data;
    if (outcome.verdict == Verdict::fail) {
      report.rows.push_back({speed.name, outcome});
      print(row(report.rows.back()));
      ++faults;
    } else {
      print("\n" + performance_table(report.performance));
    }
  }
  print(faults == 0 ? "\nall required behaviours are right\n"
                    : fmt::format("\n{} at fault\n", faults));
  file.write(json(settings, report));
  return faults == 0 ? 0 : 1;
}

void add_options(CLI::App& app, Request& request) {
  auto& settings = request.settings;
  app.add_option("plugin", settings.plugin, "The plugin's library, as dlopen finds it")
      ->type_name("PLUGIN");
  app.add_option("--ranks", settings.ranks, "Processes (those of some behaviours are 1 or 2)")
      ->check(CLI::Range(2, 8))
      ->capture_default_str();
  app.add_option("--api", settings.api,
                 fmt::format("Version of the interface, {} to {}; 0: the newest that is exported",
                             kOldest, kNewest))
      ->check([](const std::string& text) {
        int version = -1;
        if (CLI::detail::lexical_cast(text, version) &&
            (version == 0 || (version >= kOldest && version <= kNewest)))
          return std::string();
        return fmt::format("'{}': {} to {} and 0 are allowed", text, kOldest, kNewest);
      })
      ->capture_default_str();
  app.add_option("--device", settings.device, "Device of the plugin")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.add_option("--only", request.only, "Only this behaviour; may be given again")
      ->allow_extra_args(false);
  app.add_flag("--list", request.list, "Say what the behaviours are, and end");
  app.add_option("--seed", settings.seed, "Of contents, sizes and orders")->capture_default_str();
  app.add_option("--comms", settings.comms, "Connections of many-comms")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  app.add_option("--timeout", settings.patience,
                 "Seconds without anything happening that are a hang")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--peer-timeout", settings.peer_timeout,
                 "Seconds until a lost peer must have shown")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_flag("--no-perf", request.no_performance, "Leave out latencies and bandwidths");
  app.add_option("--json", request.json, "Write the results there, too")->type_name("FILE");
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  CLI::App app{
      "Drives a NCCL net plugin as NCCL does, in processes of its own, and says what it does right "
      "and wrong.\nExit status: 0 all required behaviours are right, 1 some are not, 2 the plugin, "
      "an option or a file cannot be used.\nThe plugin's warnings while it starts go to standard "
      "error; with NCCL_DEBUG=INFO all that it says then.",
      kProgram};
  add_options(app, request);
  try {
    app.parse(argc, argv);
    if (request.list) return list();
    if (request.settings.plugin.empty()) throw CLI::RequiredError("PLUGIN");
    return run(request);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUnusable;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", kProgram, error.what());
    return kUnusable;
  }
}
