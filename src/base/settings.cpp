#include "base/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/host_port.hpp"
#include "base/text.hpp"

namespace heddle::base {
namespace {

template <typename Number>
bool parse_in(std::string_view text, Number low, Number high, Number& value) {
  Number parsed{};
  if (!parse_number(text, parsed)) return false;
  if (!(parsed >= low && parsed <= high)) return false;  // also refuses NaN
  value = parsed;
  return true;
}

bool parse_bool(std::string_view text, bool& value) {
  if (text == "1" || text == "on" || text == "true" || text == "yes") return value = true, true;
  if (text == "0" || text == "off" || text == "false" || text == "no") return value = false, true;
  return false;
}

bool parse_size_in(std::string_view text, std::size_t low, std::size_t high, std::size_t& value) {
  std::size_t parsed = 0;
  if (!parse_size(text, parsed) || parsed < low || parsed > high) return false;
  value = parsed;
  return true;
}

// A number from 1, or words between commas, each once.
bool is_rails(std::string_view text) {
  if (text.find_first_not_of("0123456789") == text.npos)
    return text.find_first_not_of('0') != text.npos;
  std::vector<std::string_view> names;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    names.push_back(text.substr(from, comma - from));
    from = comma + 1;
    if (names.back().empty() || std::count(names.begin(), names.end(), names.back()) > 1)
      return false;
  }
  return true;
}

constexpr std::array<std::string_view, 6> kLogLevels = {"none", "error", "warn",
                                                        "info", "debug", "trace"};
constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = kKi * kKi;

constexpr auto kMayDiffer = SettingRow::Ranks::may_differ;
constexpr auto kMustAgree = SettingRow::Ranks::must_agree;

const SettingRow kTable[] = {
    {"HEDDLE_LOG", "none, error, warn, info, debug or trace",
     "How much is logged. At info the first lines say version, provider, adapters and algorithm.",
     kMayDiffer,
     [](Settings& s, std::string_view text) {
       const auto found = std::find(kLogLevels.begin(), kLogLevels.end(), text);
       if (found == kLogLevels.end()) return false;
       s.log = static_cast<LogLevel>(found - kLogLevels.begin());
       return true;
     },
     [](const Settings& s) { return std::string(kLogLevels[static_cast<std::size_t>(s.log)]); }},
    {"HEDDLE_LOG_FILE", "a file's path; %h is the host, %p the process",
     "Where log lines go instead of standard error.", kMayDiffer,
     [](Settings& s, std::string_view text) { return s.log_file = text, true; },
     [](const Settings& s) { return s.log_file; }},
    {"HEDDLE_METRICS_FILE", "a file's path; %h is the host, %p the process",
     "Where a process tells every second what it has done and how its rails fare, in Prometheus' "
     "text format. Each process needs a file of its own; it stays. heddle-info --metrics shows it.",
     kMayDiffer, [](Settings& s, std::string_view text) { return s.metrics_file = text, true; },
     [](const Settings& s) { return s.metrics_file; }},
    {"HEDDLE_PROVIDER", "auto, or a libfabric provider such as efa, tcp, tcp;ofi_rxm, sockets",
     "The libfabric provider between hosts. auto takes the best that is usable; any other value is "
     "taken or fails: there is no fallback.",
     kMustAgree,
     [](Settings& s, std::string_view text) { return s.provider = text, !text.empty(); },
     [](const Settings& s) { return s.provider; }},
    {"HEDDLE_SHM", "0 or 1", "Shared memory between ranks of one host; 0 sends over the fabric.",
     kMustAgree, [](Settings& s, std::string_view text) { return parse_bool(text, s.shm); },
     [](const Settings& s) { return fmt::format("{:d}", s.shm); }},
    {"HEDDLE_RMA", "0 or 1",
     "RDMA writes where the provider has them; 0 uses matched messages everywhere.", kMustAgree,
     [](Settings& s, std::string_view text) { return parse_bool(text, s.rma); },
     [](const Settings& s) { return fmt::format("{:d}", s.rma); }},
    {"HEDDLE_IFACE", "comma-separated interface names; a leading ^ excludes them",
     "Network interfaces that ranks may use, for bootstrap and data.", kMayDiffer,
     [](Settings& s, std::string_view text) { return s.iface = text, true; },
     [](const Settings& s) { return s.iface; }},
    {"HEDDLE_RAILS", "all, a number from 1, or comma-separated names of adapters, each once",
     "Adapters that carry data: all that are found, the first so many in rail order, or these.",
     kMayDiffer, [](Settings& s, std::string_view text) { return s.rails = text, is_rails(text); },
     [](const Settings& s) { return s.rails; }},
    {"HEDDLE_RAIL_TIMEOUT", "0.05 to 1000000 seconds",
     "An adapter that delivers nothing for so long while others to the same process do is given up "
     "until it answers again.",
     kMayDiffer,
     [](Settings& s, std::string_view text) { return parse_in(text, 0.05, 1e6, s.rail_timeout); },
     [](const Settings& s) { return fmt::format("{:g}", s.rail_timeout); }},
    {"HEDDLE_HOSTID", "any text without spaces",
     "Identity of this host: ranks with the same text share memory. Empty: found by itself.",
     kMayDiffer,
     [](Settings& s, std::string_view text) { return s.host_id = text, !has_space(text); },
     [](const Settings& s) { return s.host_id; }},
    {"HEDDLE_ALGO", "auto, or the name of an algorithm of docs/algorithms.md",
     "The algorithm of every collective that it can serve; auto chooses by size.", kMustAgree,
     [](Settings& s, std::string_view text) { return s.algo = text, !text.empty(); },
     [](const Settings& s) { return s.algo; }},
    {"HEDDLE_SCHEDULE", "a file's path, in the form of docs/schedules.md",
     "A schedule that runs in place of an algorithm wherever collective, ranks and root are its "
     "own. Every rank needs the same file.",
     kMayDiffer, [](Settings& s, std::string_view text) { return s.schedule = text, true; },
     [](const Settings& s) { return s.schedule; }},
    {"HEDDLE_TUNING_FILE", "a machine file's path, as heddle-tune writes it, or a preset's name",
     "What algorithm, channels and chunks are chosen by, in place of the built-in table. Every "
     "rank "
     "needs the same file.",
     kMayDiffer, [](Settings& s, std::string_view text) { return s.tuning_file = text, true; },
     [](const Settings& s) { return s.tuning_file; }},
    {"HEDDLE_CHANNELS", "0 to 16; 0 chooses", "Parallel lanes of one operation.", kMustAgree,
     [](Settings& s, std::string_view text) { return parse_in(text, 0, 16, s.channels); },
     [](const Settings& s) { return std::to_string(s.channels); }},
    {"HEDDLE_SLOTS", "4 to 64", "Slots in one pipe from a rank to a rank.", kMustAgree,
     [](Settings& s, std::string_view text) { return parse_in(text, 4, 64, s.slots); },
     [](const Settings& s) { return std::to_string(s.slots); }},
    {"HEDDLE_SLOT_BYTES", "0, or a multiple of 4K up to 16M; 0 chooses",
     "Bytes of one slot: the largest chunk that one move carries.", kMustAgree,
     [](Settings& s, std::string_view text) {
       return text == "0" ? (s.slot_bytes = 0, true)
                          : parse_size_in(text, 4 * kKi, 16 * kMi, s.slot_bytes) &&
                                s.slot_bytes % (4 * kKi) == 0;
     },
     [](const Settings& s) { return std::to_string(s.slot_bytes); }},
    {"HEDDLE_EAGER_BYTES", "0 to 64K",
     "Messages up to this many bytes go over the fabric without waiting for a receive buffer.",
     kMustAgree,
     [](Settings& s, std::string_view text) {
       return parse_size_in(text, 0, 64 * kKi, s.eager_bytes);
     },
     [](const Settings& s) { return std::to_string(s.eager_bytes); }},
    {"HEDDLE_TIMEOUT", "0.1 to 1000000 seconds",
     "An operation that makes no progress for so long ends with heddleTimeout.", kMayDiffer,
     [](Settings& s, std::string_view text) { return parse_in(text, 0.1, 1e6, s.timeout); },
     [](const Settings& s) { return fmt::format("{:g}", s.timeout); }},
    {"HEDDLE_INIT_TIMEOUT", "0.1 to 1000000 seconds", "How long a rank waits for all to join.",
     kMayDiffer,
     [](Settings& s, std::string_view text) { return parse_in(text, 0.1, 1e6, s.init_timeout); },
     [](const Settings& s) { return fmt::format("{:g}", s.init_timeout); }},
    {"HEDDLE_CHECK", "0 or 1",
     "Before a collective moves data, the ranks compare what they call: collective, counts, type, "
     "reduction, root and order. A difference is heddleInvalidUsage on every rank, in words. For "
     "finding mistakes: each operation waits for all ranks and for the root's answer.",
     kMustAgree, [](Settings& s, std::string_view text) { return parse_bool(text, s.check); },
     [](const Settings& s) { return fmt::format("{:d}", s.check); }},
    {"HEDDLE_SPIN", "-1 to 1000000 microseconds; -1 chooses",
     "How long a waiting rank keeps its core before it yields. Chosen from cores and ranks; what "
     "is chosen gives way while other programs want the core.",
     kMayDiffer,
     [](Settings& s, std::string_view text) { return parse_in(text, -1, 1000000, s.spin); },
     [](const Settings& s) { return std::to_string(s.spin); }},
    {"HEDDLE_ROOT", kHostPortAllowed,
     "Where rank 0 listens and the others find it when the environment describes the world. "
     "Default: MASTER_ADDR and MASTER_PORT + 1.",
     kMayDiffer,
     [](Settings& s, std::string_view text) {
       return s.root = text, parse_host_port(text).has_value();
     },
     [](const Settings& s) { return s.root; }},
    {"HEDDLE_SECRET", "any text without spaces",
     "Shared secret of the ranks when the environment describes the world.", kMayDiffer,
     [](Settings& s, std::string_view text) { return s.secret = text, !has_space(text); },
     [](const Settings& s) { return std::string(s.secret.empty() ? "" : "(set)"); }},
    {"HEDDLE_NCCL_DEVICES", "auto, each or all",
     "Which network devices the NCCL plugin shows: one for the adapters next to the same GPUs, one "
     "for each adapter, or one for all of them. Messages of a device go over all its adapters.",
     kMayDiffer,
     [](Settings& s, std::string_view text) {
       return s.nccl_devices = text, text == "auto" || text == "each" || text == "all";
     },
     [](const Settings& s) { return s.nccl_devices; }},
    {"HEDDLE_NCCL_MAX_RECVS", "1 to 8",
     "Buffers that NCCL may give the plugin in one receive. From 2 on, the ranks of a host share "
     "connections.",
     kMustAgree,
     [](Settings& s, std::string_view text) { return parse_in(text, 1, 8, s.nccl_max_recvs); },
     [](const Settings& s) { return std::to_string(s.nccl_max_recvs); }},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitution, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

void apply(Settings& settings, std::string_view name, std::string_view value,
           std::string_view source, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (kTable[i].name != name) continue;
    if (value.empty()) {
      warnings.push_back(fmt::format("{} is set but empty: its default is used", name));
      return;
    }
    if (!kTable[i].parse(settings, value))
      fail(heddleInvalidArgument, "{}={}: allowed is {}", name, value, kTable[i].allowed);
    settings.sources[i] = source;
    return;
  }
  std::vector<std::string_view> names;
  for (const auto& row : kTable) names.push_back(row.name);
  warnings.push_back(fmt::format("{} is not a setting of Heddle and is ignored; did you mean {}?",
                                 name, nearest(name, names)));
}

}  // namespace

std::span<const SettingRow> settings_table() { return kTable; }

bool parse_size(std::string_view text, std::size_t& value) {
  std::size_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{}) return false;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (unit == "K" || unit == "k")
    shift = 10;
  else if (unit == "M" || unit == "m")
    shift = 20;
  else if (unit == "G" || unit == "g")
    shift = 30;
  else if (!unit.empty())
    return false;
  if (parsed > (std::numeric_limits<std::size_t>::max() >> 1 >> shift)) return false;
  value = parsed << shift;
  return true;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

Settings load_settings(const char* const* environment, std::string_view overrides,
                       std::vector<std::string>& warnings) {
  Settings settings;
  settings.sources.assign(std::size(kTable), "default");
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto equals = entry.find('=');
    if (!entry.starts_with("HEDDLE_") || equals == std::string_view::npos) continue;
    // Read by the stand-ins for hardware (docs/emulated_efa.md): "is ignored" would be no truth.
    if (entry.starts_with("HEDDLE_EMULATED_")) continue;
    if (entry.substr(0, equals) == "HEDDLE_") {
      warnings.emplace_back("the environment has a variable HEDDLE_ without the name of a setting");
      continue;
    }
    apply(settings, entry.substr(0, equals), entry.substr(equals + 1), "environment", warnings);
  }
  while (!overrides.empty()) {
    const auto space = overrides.find(' ');
    const std::string_view entry = overrides.substr(0, space);
    overrides = space == std::string_view::npos ? "" : overrides.substr(space + 1);
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0)
      fail(heddleInvalidArgument, "config settings: \"{}\" is not NAME=value", entry);
    apply(settings, entry.substr(0, equals), entry.substr(equals + 1), "config", warnings);
  }
  return settings;
}

}  // namespace heddle::base
