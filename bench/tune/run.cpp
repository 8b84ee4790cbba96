#include "tune/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "harness/report.hpp"
#include "harness/sizes.hpp"
#include "harness/table.hpp"
#include "topology/machine_json.hpp"
#include "tune/comparison.hpp"
#include "tune/parameters.hpp"
#include "tune/rows.hpp"

namespace heddle::bench::tune {
namespace {

// Shares of the budget: what is left is for the machine's numbers and the joining.
constexpr double kFirstPass = 0.5, kSecondPass = 0.35;
// Differences up to this are ignored, so that the table is short.
constexpr double kTolerance = 0.015;
// Of the first pass, these are measured again: slower than the best by up to that factor.
constexpr double kAgain = 1.5;
// A candidate that far behind at a size from kLarge on is not tried at the next one: there, times
// grow with the bytes.
constexpr double kHopeless = 3;
constexpr std::size_t kLarge = 256 << 10;

// Of the time of a pass that is left to `cells`, what the first of them may take: more for large
// sizes, whose every operation is long.
template <typename Cells, typename CellOf>
double share_of_first(const Cells& cells, CellOf cell_of, double seconds) {
  const auto weight = [&](const auto& item) {
    return 1 + std::sqrt(static_cast<double>(cell_of(item).bytes) / (256 << 10));
  };
  double all = 0;
  for (const auto& item : cells) all += weight(item);
  return seconds * weight(cells.front()) / all;
}

class Run {
 public:
  Run(const TuneOptions& options, Control& control, const Join& join)
      : options_(options),
        control_(control),
        open_session_([&options, &join](const std::string& settings) {
          return join(library_options(options, settings));
        }),
        world_(describe_world(control, settings_of(library_options(options, "")))),
        stopwatch_(control, world_, open_session_, options.max_bytes),
        origin_(fmt::format("measured by heddle-tune on {}, {}", world_.host,
                            time_stamp().substr(0, 10))) {
    std::vector<std::string> warnings;
    settings_ = base::load_settings(environ, settings_of(library_options(options, "")), warnings);
  }

  int operator()();

 private:
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    if (world_.rank != 0) return;
    fmt::print(text, std::forward<Arguments>(arguments)...);
    std::fflush(stdout);
  }

  std::vector<Cell> cells() const;
  std::vector<Candidate> entrants(const Cell& cell) const;
  void first_pass();
  void make_rows();
  void keep_rows_of(const topology::Machine& other);
  void write_machine() const;
  std::vector<Compared> second_pass();

  const TuneOptions& options_;
  Control& control_;
  OpenSession open_session_;
  World world_;
  LibraryStopwatch stopwatch_;
  std::string origin_;
  base::Settings settings_;
  topology::Machine machine_;
  std::vector<Outcome> outcomes_;  // a collective's are together, sizes ascend
};

std::vector<Cell> Run::cells() const {
  std::vector<Cell> cells;
  for (const base::Collective collective : options_.collectives)
    for (const std::size_t bytes :
         size_steps(options_.min_bytes, options_.max_bytes, 0, options_.factor))
      if (count_of({collective, bytes}, world_.ranks) > 0) cells.push_back({collective, bytes});
  return cells;
}

std::vector<Candidate> Run::entrants(const Cell& cell) const {
  std::vector<Candidate> all = candidates_of(world_, cell.collective, machine_.software.slot_bytes);
  if (outcomes_.empty()) return all;
  const Outcome& last = outcomes_.back();
  if (last.cell.collective != cell.collective || last.cell.bytes < kLarge) return all;
  std::erase_if(all, [&](const Candidate& candidate) {
    const Timed* timed = last.find(candidate);
    return timed == nullptr || timed->fastest() > kHopeless * last.best().fastest();
  });
  // The best may be one in small chunks only.
  if (all.empty()) all.push_back(last.best().candidate);
  return all;
}

void Run::first_pass() {
  const std::vector<Cell> all = cells();
  const std::size_t slot = machine_.software.slot_bytes;
  const double start = stopwatch_.now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Cell& cell = all[i];
    RaceLimits limits;
    // What some did not use is for the others.
    limits.seconds = share_of_first(
        std::span(all).subspan(i), [](const Cell& each) { return each; },
        kFirstPass * options_.budget - (stopwatch_.now() - start));
    outcomes_.push_back(
        race(stopwatch_, cell, entrants(cell), limits, {}, [&](const Candidate& candidate) {
          return in_smaller_chunks(candidate, world_, cell, slot);
        }));
    const Timed& best = outcomes_.back().best();
    say("# {:<14} {:>10} bytes: {} of {}, {:.1f} us\n", base::name_of(cell.collective), cell.bytes,
        best.candidate.text(), outcomes_.back().timed.size(), best.median() * 1e6);
  }
}

void Run::make_rows() {
  for (auto first = outcomes_.begin(); first != outcomes_.end();) {
    const auto end = std::find_if(first, outcomes_.end(), [&](const Outcome& outcome) {
      return outcome.cell.collective != first->cell.collective;
    });
    for (topology::Tuned& row : rows_of({first, end}, world_, kTolerance)) {
      machine_
          .origins[fmt::format("software.tuned[{}].algorithm", machine_.software.tuned.size())] =
          origin_;
      machine_.software.tuned.push_back(std::move(row));
    }
    first = end;
  }
}

// Rows of worlds and collectives that this run did not measure, with their origins.
void Run::keep_rows_of(const topology::Machine& other) {
  for (std::size_t i = 0; i < other.software.tuned.size(); ++i) {
    const topology::Tuned& row = other.software.tuned[i];
    const bool measured =
        row.hosts == world_.hosts && row.ranks == world_.ranks &&
        std::any_of(outcomes_.begin(), outcomes_.end(), [&](const Outcome& outcome) {
          return base::name_of(outcome.cell.collective) == row.collective;
        });
    if (measured) continue;
    const auto origin = other.origins.find(fmt::format("software.tuned[{}].algorithm", i));
    if (origin != other.origins.end())
      machine_
          .origins[fmt::format("software.tuned[{}].algorithm", machine_.software.tuned.size())] =
          origin->second;
    machine_.software.tuned.push_back(row);
  }
}

void Run::write_machine() const {
  if (options_.output.empty() || world_.rank != 0) return;
  topology::check(machine_);
  write_file(options_.output, topology::machine_json(machine_));
  say("# Wrote {}: {} rows; use it with HEDDLE_TUNING_FILE={}\n", options_.output,
      machine_.software.tuned.size(), options_.output);
}

std::vector<Compared> Run::second_pass() {
  topology::Machine bare = machine_;
  bare.software.tuned.clear();
  tuner::Tuner model(bare), tuned(machine_);
  std::vector<Compared> compared;
  const double start = stopwatch_.now();
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const Outcome& first = outcomes_[i];
    const std::size_t slot = machine_.software.slot_bytes;
    const tuner::Request request = request_of(world_, first.cell, slot);
    const std::vector<Candidate> picks = {candidate_of(tuned.pick(request), slot),
                                          candidate_of(model.pick(request), slot)};
    std::vector<Candidate> candidates = picks;
    if (picks[0] == picks[1]) candidates.pop_back();
    for (const Timed& timed : first.timed)
      if (timed.fastest() <= kAgain * first.best().fastest() &&
          std::find(picks.begin(), picks.end(), timed.candidate) == picks.end())
        candidates.push_back(timed.candidate);
    RaceLimits limits;
    limits.seconds = share_of_first(
        std::span(outcomes_).subspan(i), [](const Outcome& each) { return each.cell; },
        kSecondPass * options_.budget - (stopwatch_.now() - start));
    compared.push_back(
        compare(race(stopwatch_, first.cell, candidates, limits, picks), picks[0], picks[1]));
  }
  return compared;
}

int Run::operator()() {
  if (world_.ranks < 2)
    throw Error(heddleInvalidUsage, "1 rank has nothing to tune; allowed: 2 ranks or more");
  std::optional<topology::Machine> merged;
  if (!options_.merge.empty()) merged = topology::load_machine(options_.merge);
  say("# heddle-tune: {} ranks on {} hosts, {} cores each, {:.0f} s\n", world_.ranks, world_.hosts,
      world_.cores, options_.budget);
  machine_ = measure_machine({control_, world_, open_session_, settings_,
                              options_.name.empty() ? world_.host : options_.name, origin_});
  // As the file will have it.
  if (world_.hosts > 1)
    stopwatch_.use(fmt::format(" HEDDLE_EAGER_BYTES={}", machine_.adapters.eager_bytes));
  first_pass();
  make_rows();
  if (merged) keep_rows_of(*merged);
  write_machine();
  const std::vector<Compared> compared = second_pass();
  say("{}", comparison_text(compared));
  if (!options_.json.empty() && world_.rank == 0)
    write_file(options_.json, comparison_json(compared, world_));
  stopwatch_.clear();
  control_.barrier();  // all leave together
  return 0;
}

}  // namespace

int run(const TuneOptions& options, Control& control, const Join& join) {
  return Run(options, control, join)();
}

}  // namespace heddle::bench::tune
