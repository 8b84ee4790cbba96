#include "tune/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "harness/progress.hpp"
#include "harness/report.hpp"
#include "harness/sizes.hpp"
#include "harness/table.hpp"
#include "topology/machine_json.hpp"
#include "tune/comparison.hpp"
#include "tune/parameters.hpp"
#include "tune/rows.hpp"
#include "tuner/machine_file.hpp"

namespace heddle::bench::tune {
namespace {

// Shares: of the budget for the machine's numbers, where that is enough for them; of what is then
// left for the first pass. The second has the rest.
constexpr double kMachine = 0.15, kFirstPass = 0.6;
// Differences up to this are ignored, so that the table is short.
constexpr double kTolerance = 0.015;
// Of the first pass, these are measured again: slower than the best by up to that factor.
constexpr double kAgain = 1.5;
// A candidate that far behind at a size from kLarge on is not tried at the next one: there, times
// grow with the bytes.
constexpr double kHopeless = 3;
constexpr std::size_t kLarge = 256 << 10;

// How often a pass goes over all cells. Whatever is the matter for seconds (who shares a core with
// whom, where the memory of the slots lies: each time the communicators are new) is then not the
// same for all samples of a cell.
constexpr int kFirstSweeps = 3, kSecondSweeps = 2;

// Deals the seconds of a sweep out to its cells: more to large sizes, whose every operation is
// long; what some did not use is for the others.
class Sweep {
 public:
  Sweep(Stopwatch& stopwatch, const std::vector<Cell>& cells, double seconds)
      : stopwatch_(stopwatch), end_(stopwatch.now() + seconds) {
    for (const Cell& cell : cells) left_ += weight(cell);
  }

  RaceLimits next(const Cell& cell) {
    RaceLimits limits;
    limits.seconds = (end_ - stopwatch_.now()) * weight(cell) / left_;
    left_ -= weight(cell);
    return limits;
  }

 private:
  static double weight(const Cell& cell) {
    return 1 + std::sqrt(static_cast<double>(cell.bytes) / (256 << 10));
  }

  Stopwatch& stopwatch_;
  double end_;
  double left_ = 0;
};

// The candidates of an earlier race that are not far behind.
std::vector<Candidate> survivors(const Outcome& outcome) {
  double least = outcome.best().fastest();
  for (const Timed& timed : outcome.timed) least = std::min(least, timed.fastest());
  std::vector<Candidate> candidates;
  for (const Timed& timed : outcome.timed)
    if (timed.fastest() <= kAgain * least) candidates.push_back(timed.candidate);
  return candidates;
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
        end_(stopwatch_.now() + options.budget),
        progress_(world_.rank == 0),
        origin_(fmt::format("measured by heddle-tune on {}, {}", world_.host,
                            time_stamp().substr(0, 10))) {
    std::vector<std::string> warnings;
    settings_ = base::load_settings(environ, settings_of(library_options(options, "")), warnings);
  }

  int operator()();

 private:
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (world_.rank != 0) return;
    progress_.end();
    fmt::print(text, std::forward<Arguments>(arguments)...);
    std::fflush(stdout);
  }

  double seconds_left() { return end_ - stopwatch_.now(); }
  void begin(std::string_view what, const Cell& cell) {
    progress_.begin(
        fmt::format("{}: {} of {} bytes", what, base::name_of(cell.collective), cell.bytes));
  }

  std::vector<Cell> cells() const;
  std::vector<Candidate> entrants(const Cell& cell);
  void first_pass();
  void make_rows();
  void keep_rows_of(const topology::Machine& other);
  void write_machine();
  void tell_left_out();
  std::array<Candidate, 2> picks_of(tuner::Tuner& tuned, tuner::Tuner& model,
                                    const Cell& cell) const;
  std::vector<Compared> second_pass();

  const TuneOptions& options_;
  Control& control_;
  OpenSession open_session_;
  World world_;
  LibraryStopwatch stopwatch_;
  double end_;  // by the stopwatch
  Progress progress_;
  std::string origin_;
  base::Settings settings_;
  topology::Machine machine_;
  std::vector<Outcome> outcomes_;    // a collective's are together, sizes ascend
  std::vector<Candidate> hopeless_;  // at the last cell's collective
};

std::vector<Cell> Run::cells() const {
  std::vector<Cell> cells;
  for (const base::Collective collective : options_.collectives)
    for (const std::size_t bytes :
         size_steps(options_.min_bytes, options_.max_bytes, 0, options_.factor))
      if (count_of({collective, bytes}, world_.ranks) > 0) cells.push_back({collective, bytes});
  return cells;
}

// Those that the model thinks cheapest come first: when time is short, the others are left out.
std::vector<Candidate> Run::entrants(const Cell& cell) {
  const std::size_t slot = machine_.software.slot_bytes;
  std::vector<Candidate> all = candidates_of(world_, cell.collective, slot);
  const std::vector<tuner::Priced> prices =
      tuner::Tuner(machine_).prices(request_of(world_, cell, slot));
  const auto place_of = [&](const Candidate& candidate) {
    return std::find_if(prices.begin(), prices.end(), [&](const tuner::Priced& priced) {
      return priced.algorithm->name == candidate.algorithm && priced.channels == candidate.channels;
    });
  };
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return place_of(a) < place_of(b);
  });
  if (outcomes_.empty() || outcomes_.back().cell.collective != cell.collective) {
    hopeless_.clear();
    return all;
  }
  const Outcome& last = outcomes_.back();
  if (last.cell.bytes >= kLarge)
    for (const Timed& timed : last.timed)
      if (timed.fastest() > kHopeless * last.best().fastest()) hopeless_.push_back(timed.candidate);
  std::erase_if(all, [&](const Candidate& candidate) {
    return std::find(hopeless_.begin(), hopeless_.end(), candidate) != hopeless_.end();
  });
  // The best may be one in small chunks only.
  if (all.empty()) all.push_back(last.best().candidate);
  return all;
}

void Run::first_pass() {
  const std::vector<Cell> all = cells();
  const std::size_t slot = machine_.software.slot_bytes;
  const double seconds = kFirstPass * seconds_left();
  Sweep first(stopwatch_, all, seconds / 2);
  for (const Cell& cell : all) {
    begin("first pass", cell);
    outcomes_.push_back(race(stopwatch_, cell, entrants(cell), first.next(cell), {},
                             [&](const Candidate& candidate) {
                               return in_smaller_chunks(candidate, world_, cell, slot);
                             }));
    const Timed& best = outcomes_.back().best();
    say("# {:<14} {:>10} bytes: {} of {}, {:.1f} us\n", base::name_of(cell.collective), cell.bytes,
        best.candidate.text(), outcomes_.back().timed.size(), best.median() * 1e6);
  }
  for (int i = 1; i < kFirstSweeps; ++i) {
    stopwatch_.clear();
    Sweep sweep(stopwatch_, all, seconds / 2 / (kFirstSweeps - 1));
    for (Outcome& outcome : outcomes_) {
      const RaceLimits limits = sweep.next(outcome.cell);
      if (limits.seconds <= 0) continue;
      begin("first pass, again", outcome.cell);
      outcome = pooled(outcome, race(stopwatch_, outcome.cell, survivors(outcome), limits));
    }
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
          return outcome.cell.collective == base::collective_named(row.collective);
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

void Run::write_machine() {
  if (options_.output.empty() || world_.rank != 0) return;
  topology::check(machine_);
  write_file(options_.output, topology::machine_json(machine_));
  say("# Wrote {}: {} rows; use it with HEDDLE_TUNING_FILE={}\n", options_.output,
      machine_.software.tuned.size(), options_.output);
}

// The table's pick and the model's.
std::array<Candidate, 2> Run::picks_of(tuner::Tuner& tuned, tuner::Tuner& model,
                                       const Cell& cell) const {
  const std::size_t slot = machine_.software.slot_bytes;
  const tuner::Request request = request_of(world_, cell, slot);
  return {candidate_of(tuned.pick(request), world_, cell.collective, slot),
          candidate_of(model.pick(request), world_, cell.collective, slot)};
}

void Run::tell_left_out() {
  int cells = 0, candidates = 0;
  for (const Outcome& outcome : outcomes_) {
    cells += outcome.left_out > 0 ? 1 : 0;
    candidates += outcome.left_out;
  }
  if (cells > 0)
    say("# In {:g} s there was no time for {} candidates at {} of {} sizes, those that the model "
        "thinks slowest; a larger --budget tries them\n",
        options_.budget, candidates, cells, outcomes_.size());
}

std::vector<Compared> Run::second_pass() {
  topology::Machine bare = machine_;
  bare.software.tuned.clear();
  tuner::Tuner model(bare), tuned(machine_);
  std::vector<Outcome> again;
  for (int i = 0; i < kSecondSweeps; ++i) {
    stopwatch_.clear();
    Sweep sweep(stopwatch_, cells(), seconds_left() / (kSecondSweeps - i));
    for (std::size_t c = 0; c < outcomes_.size(); ++c) {
      const Cell& cell = outcomes_[c].cell;
      const auto [by_table, by_model] = picks_of(tuned, model, cell);
      std::vector<Candidate> candidates = {by_table};
      if (by_model != by_table) candidates.push_back(by_model);
      for (const Candidate& survivor : survivors(outcomes_[c]))
        if (survivor != by_table && survivor != by_model) candidates.push_back(survivor);
      const RaceLimits limits = sweep.next(cell);
      if (i > 0 && limits.seconds <= 0) continue;
      begin("second pass", cell);
      const Outcome outcome = race(stopwatch_, cell, candidates, limits, {by_table, by_model});
      if (i == 0)
        again.push_back(outcome);
      else
        again[c] = pooled(again[c], outcome);
    }
  }
  std::vector<Compared> compared;
  for (const Outcome& outcome : again) {
    const auto [by_table, by_model] = picks_of(tuned, model, outcome.cell);
    compared.push_back(compare(outcome, by_table, by_model));
  }
  return compared;
}

int Run::operator()() {
  if (world_.ranks < 2)
    throw Error(heddleInvalidUsage, "1 rank has nothing to tune; allowed: 2 ranks or more");
  std::optional<topology::Machine> merged;
  if (!options_.merge.empty()) merged = tuner::load_machine(options_.merge);
  say("# heddle-tune: {} ranks on {} hosts, {} cores each, {:.0f} s\n", world_.ranks, world_.hosts,
      world_.cores, options_.budget);
  machine_ = measure_machine({control_, world_, open_session_, settings_,
                              options_.name.empty() ? world_.host : options_.name, origin_,
                              kMachine * options_.budget, progress_});
  // As the file will have it.
  if (world_.hosts > 1)
    stopwatch_.use(fmt::format(" HEDDLE_EAGER_BYTES={}", machine_.adapters.eager_bytes));
  first_pass();
  tell_left_out();
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
  if (control.rank() == 0)
    for (const std::string& path : {options.output, options.json}) check_writable(path);
  return Run(options, control, join)();
}

}  // namespace heddle::bench::tune
