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

// Fails as write_file() would, before there is anything to write; "" is no file.
void check_writable(const std::string& path);
// Replaces the file whole or not at all (a device or a pipe is written to); fails with
// heddleSystemError naming it.
void write_file(const std::string& path, const std::string& text);

}  // namespace heddle::bench
