// Every HEDDLE_ variable, in one table: name, type, default, what is allowed, help, and where the
// value in force came from. docs/settings.md is printed from it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"

namespace heddle::base {

struct Settings {
  LogLevel log = LogLevel::warn;
  std::string log_file;
  std::string metrics_file;  // empty: none
  std::string provider = "auto";
  bool shm = true;
  bool rma = true;
  std::string iface;
  std::string rails = "all";
  double rail_timeout = 2;  // seconds
  std::string host_id;
  std::string algo = "auto";
  std::string schedule;        // path; empty: none
  std::string tuning_file;     // path or preset; empty: none
  int channels = 0;            // 0: chosen by size
  int slots = 8;               // of one pipe
  std::size_t slot_bytes = 0;  // 0: chosen by the transport
  std::size_t eager_bytes = 8192;
  double timeout = 600;       // seconds without progress
  double init_timeout = 120;  // seconds
  bool check = false;
  int spin = -1;     // microseconds; -1: chosen from cores and ranks
  std::string root;  // host:port
  std::string secret;
  std::string nccl_devices = "auto";
  int nccl_max_recvs = 1;

  // Where each row of the table got its value: "default", "environment" or "config".
  std::vector<std::string_view> sources;
};

struct SettingRow {
  std::string_view name;
  std::string_view allowed;  // in words, with the unit
  std::string_view help;
  // Whether all ranks of a communicator must have the same value.
  enum class Ranks { may_differ, must_agree } ranks;
  // Parses strictly; false when the text is not allowed.
  bool (*parse)(Settings&, std::string_view);
  std::string (*show)(const Settings&);
};

std::span<const SettingRow> settings_table();

// Settings from an environment (as environ(7)) and then from `overrides` ("NAME=value NAME=value").
// A bad value fails with heddleInvalidArgument naming variable, value and what is allowed. Names
// that start with HEDDLE_ and are not in the table go to `warnings`, with the nearest name.
Settings load_settings(const char* const* environment, std::string_view overrides,
                       std::vector<std::string>& warnings);

// "8", "64K", "1M", "2G" to bytes; false when malformed or past 2^63.
bool parse_size(std::string_view text, std::size_t& value);

// The candidate with the least edit distance to `word`.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace heddle::base
