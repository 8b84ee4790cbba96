// The tables that a person reads, and the same as JSON.
#pragma once

#include <string>
#include <vector>

#include "nccl_net_check/crew.hpp"

namespace heddle::net_check {

struct Row {
  std::string name;
  Outcome outcome;
};

struct Report {
  std::string about;  // describe()'s JSON
  std::vector<Row> rows;
  std::string performance;  // measure()'s JSON; empty: not measured
};

// Lines that start with '#': the plugin, its device, the ranks.
std::string header(const Settings& settings, const std::string& about);
std::string table_head();
// With the end of the line; a long detail goes on in lines of its own.
std::string row(const Row& row);
std::string performance_table(const std::string& performance);
std::string json(const Settings& settings, const Report& report);

}  // namespace heddle::net_check
