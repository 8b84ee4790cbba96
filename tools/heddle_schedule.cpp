// heddle-schedule: prints what an algorithm does, writes it as a file that HEDDLE_SCHEDULE runs,
// and proves such files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "collectives/names.hpp"
#include "collectives/schedule_json.hpp"
#include "collectives/select.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"

namespace {

using namespace heddle;

struct Request {
  std::string algorithm, collective, file;
  collectives::Shape shape{base::Collective::all_reduce, 0, 1};
  int slots = 4;  // the least that HEDDLE_SLOTS allows
  bool json = false;
};

using base::counted;

int check(const Request& request) {
  const auto schedule = collectives::load_schedule(request.file, request.slots);
  std::size_t moves = 0;
  for (const auto& lanes : schedule.lanes)
    for (const auto& lane : lanes) moves += lane.size();
  fmt::print("{}: right: {} among {}, {}, {}, {}, {} needed\n", request.file,
             base::name_of(schedule.shape.collective), counted(schedule.shape.ranks, "rank"),
             counted(schedule.shape.channels, "channel"), counted(schedule.pieces, "piece"),
             counted(moves, "move"), counted(collectives::slots_needed(schedule), "slot"));
  return 0;
}

// Every algorithm and collective that can do 8 ranks on 2 hosts.
int list() {
  for (const auto& algorithm : collectives::algorithms())
    for (int c = 0; c < base::kCollectives; ++c) {
      const collectives::Shape shape{static_cast<base::Collective>(c), 8, 1, 0, 4};
      if (can_do(algorithm, shape))
        fmt::print("{} {}\n", algorithm.name, base::name_of(shape.collective));
    }
  return 0;
}

int print(Request request) {
  const auto* algorithm = &collectives::required_algorithm(request.algorithm, "algorithm");
  request.shape.collective = collectives::required_collective(request.collective, "collective");
  if (request.shape.root >= request.shape.ranks)
    base::fail(heddleInvalidArgument, "root: {} is not allowed; 0 to {} are", request.shape.root,
               request.shape.ranks - 1);
  if (!collectives::can_do(*algorithm, request.shape))
    base::fail(heddleInvalidArgument, "{} has no {} of this shape", algorithm->name,
               base::name_of(request.shape.collective));
  if (request.json) {
    fmt::print("{}", to_json(collectives::schedule_of(*algorithm, request.shape)));
    return 0;
  }
  for (int rank = 0; rank < request.shape.ranks; ++rank)
    fmt::print("{}", to_text(request.shape, *algorithm, rank));
  return 0;
}

// The status, unless what was printed did not get through.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("heddle-schedule: standard output");
  return 1;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{
      "Prints the lanes of an algorithm, or writes them as JSON for HEDDLE_SCHEDULE; with "
      "--check,\n"
      "proves such a file. docs/schedules.md says what a schedule is."};
  Request request;
  auto* check_option = app.add_option("--check", request.file, "Prove the schedule of this file");
  app.add_option("algorithm", request.algorithm, collectives::known_algorithms());
  app.add_option("collective", request.collective, "all-reduce, broadcast, ...");
  app.add_option("ranks", request.shape.ranks)->check(CLI::Range(1, 1 << 20));
  app.add_option("channels", request.shape.channels)->check(CLI::Range(1, 64));
  app.add_option("--root", request.shape.root, "Root rank")->check(CLI::NonNegativeNumber);
  app.add_option("--ranks-per-host", request.shape.ranks_per_host,
                 "Ranks on each host, for algorithms that care")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--slots", request.slots, "Slots of a pipe to prove with (4)")
      ->check(CLI::Range(1, 64));
  app.add_flag("--json", request.json, "Write JSON");
  bool lists = false;
  app.add_flag("--list", lists, "List the algorithms and their collectives");
  CLI11_PARSE(app, count, words);
  try {
    if (check_option->count() > 0) return flushed(check(request));
    if (lists) return flushed(list());
    if (request.shape.ranks == 0)
      base::fail(heddleInvalidArgument,
                 "algorithm, collective and ranks are needed, for example: heddle-schedule ring "
                 "all-reduce 4");
    return flushed(print(request));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heddle-schedule: %s\n", error.what());
    return 1;
  }
}
