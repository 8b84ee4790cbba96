// What heddle-sim prints: the benchmarks' columns, and "simulated" wherever a person may look.
#pragma once

#include <string>
#include <vector>

#include "heddle_sim_run.hpp"

namespace heddle::tools {

// `ranks` take part, the machine's first ones.
std::string sim_preamble(const topology::Machine& machine, const SimOptions& options, int ranks);
std::string sim_header();
std::string sim_row_text(const SimRow& row);
std::string sim_footer(const SimOptions& options, const std::vector<SimRow>& rows);
std::string sim_json(const topology::Machine& machine, const SimOptions& options,
                     const std::vector<SimRow>& rows);

// The three rows of adapters 4, 1 and 0, as they were published, with what was published of the
// same job where it was; of those that the machine lacks a line says so.
std::string sim_compare(const topology::Machine& machine, const SimOptions& options);

}  // namespace heddle::tools
