#include "harness/run_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/progress.hpp"
#include "harness/report.hpp"
#include "harness/sizes.hpp"
#include "harness/table.hpp"

namespace heddle::bench {
namespace {

std::vector<RankPlace> gather_places(Control& control) {
  RankPlace mine;
  mine.pid = getpid();
  gethostname(mine.host, sizeof mine.host - 1);
  std::vector<RankPlace> all(static_cast<std::size_t>(control.ranks()));
  control.all_gather(&mine, all.data(), sizeof mine);
  return all;
}

void check_ranks(const Benchmark& benchmark, const Options& options, int ranks) {
  if (benchmark.power_of_two && !std::has_single_bit(static_cast<unsigned>(ranks)))
    throw Error(heddleInvalidUsage, fmt::format("{} ranks; allowed: powers of two", ranks));
  if (benchmark.rooted && options.root >= ranks)
    throw Error(heddleInvalidUsage, fmt::format("-r {} of {} ranks; allowed: -1 (every rank) to {}",
                                                options.root, ranks, ranks - 1));
}

// In nccl-tests' order.
std::vector<Case> cases_of(const Benchmark& benchmark, const Options& options, int ranks) {
  const std::vector<Op> ops = benchmark.reduces ? options.ops : std::vector<Op>{Op::sum};
  const bool every = benchmark.rooted && options.root < 0;
  const int first = every ? 0 : options.root, last = every ? ranks - 1 : options.root;
  std::vector<Case> cases;
  for (const heddleDataType_t type : options.types)
    for (const Op op : ops)
      for (int root = first; root <= last; ++root) cases.push_back({type, op, root});
  return cases;
}

// Prints on rank 0 and nowhere else.
class Printer {
 public:
  explicit Printer(bool on) : on_(on) {}
  void operator()(const std::string& text) const {
    if (!on_) return;
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

 private:
  bool on_;
};

}  // namespace

int run_table(const Benchmark& benchmark, const Options& options, Control& control,
              Session& session) {
  check_ranks(benchmark, options, control.ranks());
  const bool speaks = control.rank() == 0;
  const Printer print(speaks);
  Progress progress(speaks);
  const std::string started = time_stamp();
  const Run run{benchmark.name, options, gather_places(control), session.network(),
                session.library_version()};
  print(preamble(run));
  Measurement measurement(benchmark, options, control, session);
  Totals totals;
  std::vector<Row> rows;
  const std::vector<Case> cases = cases_of(benchmark, options, control.ranks());
  const std::vector<std::size_t> sizes =
      size_steps(options.min_bytes, options.max_bytes, options.step_bytes, options.factor);
  progress.begin("warm-up");
  measurement.warm_up(cases.front());
  progress.end();
  for (int cycle = 0; cycle < options.cycles; ++cycle) {
    print(header(options));
    for (const Case& what : cases)
      for (const std::size_t bytes : sizes) {
        progress.begin(fmt::format("{} bytes of {}", bytes, name_of(what.type)));
        rows.push_back(measurement.measure(bytes, what));
        totals.add(rows.back());
        progress.end();
        print(row_text(rows.back(), options.average, options.timestamps ? time_stamp() : ""));
      }
  }
  print(footer(benchmark.name, totals));
  if (speaks && !options.json.empty())
    write_file(options.json, json_report(run, rows, totals, started, time_stamp()));
  if (speaks && !options.csv.empty()) write_file(options.csv, csv_report(run, rows));
  control.barrier();  // all leave together, after the reports
  return totals.bad_checks == 0 ? 0 : kWrongData;
}

}  // namespace heddle::bench
