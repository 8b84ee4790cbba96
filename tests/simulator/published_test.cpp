// The published run of two p4d.24xlarge, reproduced: each time from 1 MiB up within 15 %, below
// within 30 %, and the averages and maxima with 4, 1 and 0 adapters within 20 %. The simulation is
// deterministic, so these are no timings.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "heddle_sim_run.hpp"
#include "heddle_sim_text.hpp"
#include "published.hpp"

namespace heddle::tools {
namespace {

struct PublishedRow {
  std::size_t bytes = 0;
  double out_of_place_us = 0, in_place_us = 0;
};

std::vector<PublishedRow> published_rows() {
  std::ifstream file(HEDDLE_PUBLISHED);
  std::string line;
  std::getline(file, line);
  std::vector<PublishedRow> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    rows.push_back({std::stoul(cells.at(0)), std::stod(cells.at(4)), std::stod(cells.at(7))});
  }
  return rows;
}

SimOptions options() {
  SimOptions options;
  options.machine_name = "p4d.24xlarge";
  options.hosts = 2;
  return options;
}

TEST_CASE("published: every row of the table") {
  const auto machine = sim_machine(options());
  const auto published = published_rows();
  REQUIRE(published.size() == 28);
  for (const PublishedRow& row : published) {
    const double simulated = sim_row(machine, options(), 4, row.bytes).seconds * 1e6;
    const double bar = row.bytes >= (1U << 20) ? 0.15 : 0.30;
    INFO(row.bytes << " bytes: simulated " << simulated << " us, published " << row.out_of_place_us
                   << " and " << row.in_place_us << " us");
    CHECK(simulated == Approx(row.out_of_place_us).epsilon(bar));
    CHECK(simulated == Approx(row.in_place_us).epsilon(bar));
  }
}

TEST_CASE("published: averages and maxima with 4, 1 and 0 adapters") {
  const auto machine = sim_machine(options());
  REQUIRE(published_summaries().size() == 3);
  for (const Published& summary : published_summaries()) {
    std::vector<SimRow> rows;
    for (const std::size_t bytes : sim_sizes(options()))
      rows.push_back(sim_row(machine, options(), summary.adapters, bytes));
    INFO(summary.adapters << " adapters");
    CHECK(mean_busbw(rows) == Approx(summary.mean).epsilon(0.20));
    CHECK(max_busbw(rows) == Approx(summary.max).epsilon(0.20));
  }
}

TEST_CASE("published: the same to the last picosecond again") {
  const auto machine = sim_machine(options());
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{1} << 28}) {
    const auto first = sim_row(machine, options(), 4, bytes);
    const auto again = sim_row(machine, options(), 4, bytes);
    CHECK(first.result.seconds == again.result.seconds);
    CHECK(first.result.events == again.result.events);
  }
}

}  // namespace
}  // namespace heddle::tools
