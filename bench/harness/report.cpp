#include "harness/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "harness/names.hpp"

namespace heddle::bench {
namespace {

using Json = nlohmann::ordered_json;

// nccl-tests writes truth values as strings.
const char* text_of(bool value) { return value ? "true" : "false"; }

Json half_json(const Half& half, const Options& options) {
  Json json;
  json[options.cpu_time ? "cpu_time" : "time"] = half.times.by(options.average) * 1e6;
  json["alg_bw"] = half.algbw;
  json["bus_bw"] = half.busbw;
  json["nwrong"] = half.wrong ? Json(*half.wrong) : Json();
  json["over_ranks"] = {{"rank0_us", half.times.rank0 * 1e6},
                        {"min_us", half.times.min * 1e6},
                        {"avg_us", half.times.mean * 1e6},
                        {"max_us", half.times.max * 1e6}};
  return json;
}

Json config_json(const Run& run) {
  const Options& options = run.options;
  Json config = {{"nthreads", 1},
                 {"ngpus", 1},
                 {"minimum_bytes", options.min_bytes},
                 {"maximum_bytes", options.max_bytes}};
  if (options.factor > 1)
    config["step_factor"] = options.factor;
  else
    config["step_bytes"] = options.step_bytes;
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.aggregate;
  config["validation"] = options.check;
  config["graph"] = 0;
  config["blocking_collectives"] = text_of(options.blocking != Blocking::none);
  config["devices"] = Json::array();
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    config["devices"].push_back({{"rank", rank},
                                 {"group", 0},
                                 {"pid", run.ranks[rank].pid},
                                 {"hostname", run.ranks[rank].host},
                                 {"device", 0},
                                 {"device_hex", "host"},
                                 {"device_info", "memory"}});
  return config;
}

Json environment_json() {
  Json kept = Json::array();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("HEDDLE_") && !text.starts_with("HEDDLE_SECRET=")) kept.push_back(text);
  }
  return kept;
}

std::string_view op_name(const Row& row) { return row.op ? name_of(*row.op) : "none"; }

std::string csv_line(const Run& run, const Row& row, std::string_view place, const Half& half) {
  const double us = 1e6;
  const std::string wrong = half.wrong ? fmt::format("{}", *half.wrong) : "";
  return fmt::format("{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.6g},{:.6g},{}\n",
                     run.program, run.ranks.size(), row.bytes, row.count, name_of(row.type),
                     op_name(row), row.root, place, half.times.by(run.options.average) * us,
                     half.times.min * us, half.times.mean * us, half.times.max * us, half.algbw,
                     half.busbw, wrong);
}

}  // namespace

std::string json_report(const Run& run, const std::vector<Row>& rows, const Totals& totals,
                        const std::string& started, const std::string& ended) {
  Json json = {{"version", 3},
               {"start_time", started},
               {"program", run.program},
               {"args", run.options.arguments},
               {"env", environment_json()},
               {"heddle_version", run.library_version},
               {"network", run.network},
               {"config", config_json(run)},
               {"results", Json::array()}};
  for (const Row& row : rows)
    json["results"].push_back(
        {{"size", row.bytes},
         {"count", row.count},
         {"type", name_of(row.type)},
         {"redop", op_name(row)},
         {"root", std::to_string(row.root)},
         {"out_of_place", half_json(row.out_of_place, run.options)},
         {"in_place", row.in_place ? half_json(*row.in_place, run.options) : Json()}});
  json["out_of_bounds"] = {{"count", totals.bad_checks}, {"okay", text_of(totals.bad_checks == 0)}};
  json["average_bus_bandwidth"] = {{"bandwidth", totals.mean_busbw()}, {"okay", "unchecked"}};
  json["errors"] = Json::array();
  json["end_time"] = ended;
  return json.dump(2) + "\n";
}

std::string csv_report(const Run& run, const std::vector<Row>& rows) {
  std::string text =
      "program,ranks,size,count,type,redop,root,place,time_us,min_us,avg_us,max_us,algbw,busbw,"
      "wrong\n";
  for (const Row& row : rows)
    text += csv_line(run, row, "out_of_place", row.out_of_place) +
            (row.in_place ? csv_line(run, row, "in_place", *row.in_place) : "");
  return text;
}

namespace {

// A device or a pipe, which is written to as it is, and not replaced.
bool is_special(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_other(std::filesystem::status(path, ignored));
}

// What stands there until the file is whole; the next run with the same path takes it over.
std::string draft_of(const std::string& path) { return is_special(path) ? path : path + ".part"; }

[[noreturn]] void fail_to_write(const std::string& path, const std::error_code& why) {
  std::error_code ignored;
  if (!is_special(path)) std::filesystem::remove(draft_of(path), ignored);
  throw Error(heddleSystemError, fmt::format("cannot write {}: {}", path, why.message()));
}

void write_draft(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(draft_of(path), std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail_to_write(path, {errno, std::generic_category()});
}

}  // namespace

void check_writable(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    fail_to_write(path, std::make_error_code(std::errc::is_a_directory));
  write_draft(path, "");
  if (!is_special(path)) std::filesystem::remove(draft_of(path), ignored);
}

void write_file(const std::string& path, const std::string& text) {
  write_draft(path, text);
  if (is_special(path)) return;
  std::error_code error;
  std::filesystem::rename(draft_of(path), path, error);
  if (error) fail_to_write(path, error);
}

}  // namespace heddle::bench
