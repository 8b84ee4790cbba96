#include "metrics_page.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "columns.hpp"

namespace heddle::tools {
namespace {

using Labels = std::map<std::string, std::string>;

struct Sample {
  std::string name;
  Labels labels;
  std::uint64_t value = 0;
};

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size())
      out += text[i];
    else
      out += text[++i] == 'n' ? '\n' : text[i];
  }
  return out;
}

Sample sample_of(const std::string& line, const std::string& path, int number) {
  static const std::regex kLine(R"re((heddle_\w+)\{(.*)\} (\d{1,19}))re");
  static const std::regex kLabel(R"re((\w+)="((?:[^"\\]|\\.)*)")re");
  std::smatch parts;
  if (!std::regex_match(line, parts, kLine))
    base::fail(heddleInvalidArgument,
               "{}:{}: is no metric of Heddle; files that HEDDLE_METRICS_FILE names have those",
               path, number);
  Sample sample{parts[1], {}, std::stoull(parts[3])};
  const std::string labels = parts[2];
  for (std::sregex_iterator label(labels.begin(), labels.end(), kLabel), end; label != end; ++label)
    sample.labels[(*label)[1]] = unescaped((*label)[2]);
  return sample;
}

std::vector<Sample> samples_of(const std::string& path) {
  std::istringstream lines(base::read_file(path, path));
  std::vector<Sample> samples;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line[0] != '#') samples.push_back(sample_of(line, path, number));
  }
  if (samples.empty() || samples[0].name != "heddle_process_info")
    base::fail(heddleInvalidArgument, "{}: does not begin with heddle_process_info", path);
  return samples;
}

// Rows by what they are of, cells by the metric.
using Table = std::map<std::string, std::map<std::string, std::uint64_t>>;

std::string operations_section(const Table& operations) {
  Columns lines;
  for (const auto& [operation, cells] : operations) {
    const auto cell = [&](const char* name) {
      const auto found = cells.find(fmt::format("heddle_operations_{}_total", name));
      return found == cells.end() ? 0 : found->second;
    };
    if (cell("done") + cell("failed") == 0) continue;
    lines.add({operation, fmt::format("{} done", cell("done")),
               fmt::format("{} failed", cell("failed")),
               fmt::format("{:.3f} GB", static_cast<double>(cell("bytes")) / 1e9)});
  }
  return lines.empty() ? "  no operation has ended\n" : lines.text();
}

std::string rails_section(const Table& rails) {
  Columns lines;
  for (const auto& [rail, cells] : rails) {
    const auto cell = [&](const char* name) {
      const auto found = cells.find(fmt::format("heddle_rail_{}", name));
      return found == cells.end() ? 0 : found->second;
    };
    lines.add({rail,
               fmt::format("{:.3f} GB sent", static_cast<double>(cell("sent_bytes_total")) / 1e9),
               fmt::format("{} of {} up", cell("links_up"), base::counted(cell("links"), "link")),
               fmt::format("given up {} times, back {} times", cell("given_up_total"),
                           cell("came_back_total")),
               base::counted(cell("new_endpoints_total"), "new endpoint"),
               base::counted(cell("registrations_total"), "registration")});
  }
  return lines.text();
}

}  // namespace

std::string metrics_text(const std::string& path) {
  Table operations, rails;
  Labels process;
  for (const Sample& sample : samples_of(path)) {
    const auto label = [&](const char* name) {
      const auto found = sample.labels.find(name);
      return found == sample.labels.end() ? std::string("?") : found->second;
    };
    if (sample.name == "heddle_process_info")
      process = {{"host", label("host")}, {"pid", label("pid")}, {"version", label("version")}};
    else if (sample.labels.contains("operation"))
      operations[label("operation")][sample.name] = sample.value;
    else
      rails[fmt::format("{} rail {}", label("provider"), label("rail"))][sample.name] =
          sample.value;
  }
  return fmt::format("Process {} of host {}, Heddle {}\n{}{}", process["pid"], process["host"],
                     process["version"], operations_section(operations), rails_section(rails));
}

}  // namespace heddle::tools
