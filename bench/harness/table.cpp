#include "harness/table.hpp"

#include <fmt/format.h>

#include <ctime>

#include "harness/names.hpp"
#include "heddle/version.h"
#include "table/table.hpp"

namespace heddle::bench {
namespace {

// What the preamble says of -z; nothing of its default.
std::string_view blocking_text(Blocking blocking) {
  switch (blocking) {
    case Blocking::each_operation: return "# -z 1: a barrier after each operation\n";
    case Blocking::wait: return "# -z 2: no barriers; operations wait for their own part anyway\n";
    case Blocking::each_iteration:
      return "# -z 3: a barrier after each iteration, whose time does not count\n";
    default: return "";
  }
}

table::Half cells_of(const Half& half, Average average) {
  return {half.times.by(average), half.algbw, half.busbw, half.wrong};
}

}  // namespace

std::string preamble(const Run& run) {
  const Options& options = run.options;
  std::string text = fmt::format(
      "# heddle-tests version {}.{}.{} heddle-headers={} heddle-library={}\n"
      "# Collective test starting: {}\n",
      HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH, HEDDLE_VERSION_CODE, run.library_version,
      run.program);
  const bool by_factor = options.factor > 1;
  text += fmt::format(
      "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: {} validation: {} graph: 0 unalign: 0\n{}#\n# Using devices\n",
      options.min_bytes, options.max_bytes, by_factor ? options.factor : options.step_bytes,
      by_factor ? "factor" : "bytes", options.warmup, options.iterations, options.aggregate,
      options.check, blocking_text(options.blocking));
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    text += fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}\n", rank, 0,
                        run.ranks[rank].pid, run.ranks[rank].host, 0, "host", "memory");
  text += fmt::format("#\n# {}\n", run.network);
  if (run.ranks.size() == 1)
    text += "# One rank moves nothing between ranks: the bandwidths are no network's\n";
  return text + "#\n";
}

std::string header(const Options& options) {
  return table::header(table::kHalves, options.cpu_time ? "cputime" : "time");
}

std::string row_text(const Row& row, Average average, std::string_view stamp) {
  std::optional<table::Half> in_place;
  if (row.in_place) in_place = cells_of(*row.in_place, average);
  std::string text = table::row(
      {row.bytes, row.count, name_of(row.type), row.op ? name_of(*row.op) : "none", row.root},
      cells_of(row.out_of_place, average), in_place);
  if (!stamp.empty()) text += fmt::format("{:>21}", stamp);
  return text + "\n";
}

void Totals::add(const Row& row) {
  const auto add_half = [this](const Half& half) {
    bad_checks += half.bad_checks;
    busbw_sum += half.busbw;
    ++halves;
  };
  add_half(row.out_of_place);
  if (row.in_place) add_half(*row.in_place);
}

std::string footer(std::string_view program, const Totals& totals) {
  return fmt::format(
      "# {:<20} : {} {}\n# {:<20} : {:g} \n#\n# Collective test concluded: {}\n#\n\n",
      "Out of bounds values", totals.bad_checks, totals.bad_checks == 0 ? "OK" : "FAILED",
      "Avg bus bandwidth", totals.mean_busbw(), program);
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace heddle::bench
