#include "settings_page.hpp"

#include <fmt/format.h>

#include "columns.hpp"

namespace heddle::tools {
namespace {

std::string shown(const base::SettingRow& row, const base::Settings& settings) {
  const std::string value = row.show(settings);
  return value.empty() ? "(empty)" : value;
}

}  // namespace

std::string settings_text(const base::Settings& settings) {
  Columns lines;
  lines.add({"setting", "value", "source", "allowed"});
  const auto table = base::settings_table();
  for (std::size_t i = 0; i < table.size(); ++i)
    lines.add({std::string(table[i].name), shown(table[i], settings),
               std::string(settings.sources[i]), std::string(table[i].allowed)});
  return lines.text();
}

std::string settings_markdown() {
  std::string page =
      "# Settings\n\n"
      "Printed by `heddle-info --settings-markdown`; a test keeps it current. Do not edit.\n\n"
      "Every setting is an environment variable. `heddleConfig_t::settings` sets the same names "
      "for\n"
      "one communicator and wins over the environment. A value that is not allowed is an error; a\n"
      "variable that is set but empty keeps its default; an unknown `HEDDLE_` name is a warning "
      "that\n"
      "tells the nearest known one. `heddle-info --settings` prints the values in force and where\n"
      "they came from.\n\n"
      "Sizes take the suffixes K, M and G (powers of 1024). Switches take 1, on, true or yes, and "
      "0,\n"
      "off, false or no.\n";
  for (const auto& row : base::settings_table())
    page += fmt::format("\n## {}\n\n{}\n\n- Allowed: {}.\n- Default: {}.\n", row.name, row.help,
                        row.allowed, shown(row, base::Settings{}));
  return page;
}

}  // namespace heddle::tools
