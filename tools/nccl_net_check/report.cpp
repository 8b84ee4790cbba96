#include "nccl_net_check/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace heddle::net_check {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kDetailFrom = 26;

std::string text_of_bytes(std::size_t bytes) {
  if (bytes >= (1 << 20)) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= (1 << 10)) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

// Broken at blanks to lines of the rest of the width.
std::string wrapped(const std::string& text) {
  std::string result;
  std::size_t at = 0;
  while (text.size() - at > kColumns - kDetailFrom) {
    auto end = text.rfind(' ', at + kColumns - kDetailFrom);
    if (end == std::string::npos || end <= at) end = text.find(' ', at);
    if (end == std::string::npos) break;
    result += text.substr(at, end - at) + "\n" + std::string(kDetailFrom, ' ');
    at = end + 1;
  }
  return result + text.substr(at);
}

}  // namespace

std::string header(const Settings& settings, const std::string& about) {
  const auto json = nlohmann::json::parse(about);
  std::string versions;
  for (const int version : json["versions"]) versions += fmt::format(" v{}", version);
  return fmt::format(
      "# plugin: {}\n"
      "# {}, v{} of{}; device {}: {}, {} Mbit/s, maxRecvs {}\n"
      "# {} ranks, seed {}\n",
      settings.plugin, json["name"].get<std::string>(), json["version"].get<int>(), versions,
      settings.device, json["device"].get<std::string>(), json["speed"].get<int>(),
      json["grouped"].get<int>(), settings.ranks, settings.seed);
}

std::string table_head() {
  return fmt::format("{:<16}  {:<6}  {}\n", "behaviour", "result", "detail");
}

std::string row(const Row& row) {
  auto text = fmt::format("{:<16}  {:<6}  {}", row.name, name_of(row.outcome.verdict),
                          wrapped(row.outcome.detail));
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string performance_table(const std::string& performance) {
  std::string text =
      fmt::format("{:>8}  {:>20}  {:>16}\n", "size", "half round trip (us)", "bandwidth (GB/s)");
  for (const auto& row : nlohmann::json::parse(performance))
    text +=
        fmt::format("{:>8}  {:>20.2f}  {:>16.3f}\n", text_of_bytes(row["bytes"].get<std::size_t>()),
                    row["half_round_trip_us"].get<double>(), row["bandwidth_gbs"].get<double>());
  return text;
}

std::string json(const Settings& settings, const Report& report) {
  nlohmann::json all;
  if (!report.about.empty()) all = nlohmann::json::parse(report.about);
  all["plugin"] = settings.plugin;
  all["ranks"] = settings.ranks;
  all["seed"] = settings.seed;
  all["behaviours"] = nlohmann::json::array();
  for (const auto& [name, outcome] : report.rows)
    all["behaviours"].push_back({{"name", name},
                                 {"result", name_of(outcome.verdict)},
                                 {"seconds", outcome.seconds},
                                 {"detail", outcome.detail}});
  if (!report.performance.empty()) all["performance"] = nlohmann::json::parse(report.performance);
  // A plugin's own words need not be UTF-8.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::net_check
