// The results as JSON, in nccl-tests' layout, and as CSV, one line for each half of a row.
#pragma once

#include <string>
#include <vector>

#include "harness/table.hpp"

namespace heddle::bench {

// `started` and `ended` are time stamps. Of the environment only HEDDLE_ variables are kept, and no
// secret.
std::string json_report(const Run& run, const std::vector<Row>& rows, const Totals& totals,
                        const std::string& started, const std::string& ended);
std::string csv_report(const Run& run, const std::vector<Row>& rows);

// Replaces the file whole or not at all; fails with heddleSystemError naming it.
void write_file(const std::string& path, const std::string& text);

}  // namespace heddle::bench
