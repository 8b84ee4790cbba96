// heddle-tune's command line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "harness/options.hpp"

namespace heddle::bench::tune {

struct TuneOptions {
  int ranks = 0;  // to fork; 0: not said
  std::size_t min_bytes = 8, max_bytes = 64u << 20, factor = 4;
  std::vector<base::Collective> collectives;  // all of them unless said
  double budget = 120;                        // seconds for all
  std::string output, merge, json, name;      // name: of the machine
  std::string provider;
};

// Throws Usage for a bad command line, and with status 0 for --help.
TuneOptions parse_tune_options(const std::vector<std::string>& arguments);

// Those of every communicator that is made, beside its own settings.
Options library_options(const TuneOptions& options, const std::string& settings);

}  // namespace heddle::bench::tune
