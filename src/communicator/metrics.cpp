#include "communicator/metrics.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host_name.hpp"
#include "base/log.hpp"

namespace heddle::communicator {
namespace {

constexpr std::chrono::seconds kPeriod{1};

std::string label_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

// A metric: what it is, then a line for each combination of labels.
class Family {
 public:
  Family(std::string& out, std::string_view name, std::string_view type, std::string_view help)
      : out_(out), name_(name) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void add(std::string_view labels, std::uint64_t value) {
    out_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }

 private:
  std::string& out_;
  std::string_view name_;
};

using transport::RailMetrics;

struct RailColumn {
  std::string_view name, type, help;
  std::uint64_t RailMetrics::*value;
};
constexpr RailColumn kRailColumns[] = {
    {"heddle_rail_sent_bytes_total", "counter", "Bytes sent over the rail.",
     &RailMetrics::sent_bytes},
    {"heddle_rail_links", "gauge", "Links from the rail to other processes.", &RailMetrics::links},
    {"heddle_rail_links_up", "gauge", "Links that carry messages now.", &RailMetrics::links_up},
    {"heddle_rail_given_up_total", "counter", "Times that a link was given up.",
     &RailMetrics::given_up},
    {"heddle_rail_came_back_total", "counter", "Times that a link came back.",
     &RailMetrics::came_back},
    {"heddle_rail_new_endpoints_total", "counter", "Endpoints that replaced another.",
     &RailMetrics::new_endpoints},
    {"heddle_rail_registrations_total", "counter", "Registrations of memory.",
     &RailMetrics::registrations},
};

template <typename Rails>
void add_to(Rails& sums, const std::vector<RailMetrics>& rails) {
  for (const RailMetrics& rail : rails) {
    RailMetrics& sum = sums[{rail.provider, rail.rail}];
    for (const RailColumn& column : kRailColumns) sum.*column.value += rail.*column.value;
  }
}

}  // namespace

Metrics* Metrics::open(const std::string& pattern) {
  static std::mutex opening;
  // Never destroyed: their threads end with the process.
  static auto* const files = new std::map<std::string, std::unique_ptr<Metrics>>;
  if (pattern.empty()) return nullptr;
  const std::string path = base::expand_path(pattern);
  const std::lock_guard lock(opening);
  auto& place = (*files)[path];
  if (place != nullptr) return place.get();
  std::unique_ptr<Metrics> metrics(new Metrics(path));
  try {
    base::replace_file(path, metrics->text());
    metrics->thread_.start();
  } catch (const base::Error& error) {
    base::fail(heddleInvalidArgument, "HEDDLE_METRICS_FILE={}: {}", pattern, error.what());
  }
  place = std::move(metrics);
  return place.get();
}

Metrics::Metrics(std::string path)
    : path_(std::move(path)),
      thread_(
          "heddle-metrics",
          [this] {
            std::unique_lock lock(mutex_);
            while (!wake_.wait_for(lock, kPeriod, [&] { return stop_; })) write();
          },
          [this] {
            {
              const std::lock_guard lock(mutex_);
              stop_ = true;
            }
            wake_.notify_all();
          }) {}

void Metrics::include(const std::shared_ptr<transport::Transport>& transport) {
  if (transport == nullptr) return;
  const std::lock_guard lock(writing_);
  const auto same = [&](const Fabric& known) { return known.open.lock() == transport; };
  if (std::ranges::none_of(fabrics_, same)) fabrics_.push_back({transport, {}});
}

void Metrics::count(const Call& call, heddleResult_t result, int ranks) {
  Counts& counts = counts_[kind_of(call)];
  if (result != heddleSuccess) {
    counts.failed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  counts.done.fetch_add(1, std::memory_order_relaxed);
  if (call.kind == Call::Kind::barrier) return;
  counts.bytes.fetch_add(larger_buffer_bytes(call, ranks), std::memory_order_relaxed);
}

void Metrics::write() {
  const std::lock_guard lock(writing_);
  try {
    base::replace_file(path_, text());
    complained_ = false;
  } catch (const std::exception& error) {
    // Monitoring that fails must not stop the job.
    if (!complained_) base::log_warn("HEDDLE_METRICS_FILE: {}", error.what());
    complained_ = true;
  }
}

Metrics::Rails Metrics::rails_now() {
  for (Fabric& fabric : fabrics_) {
    const auto open = fabric.open.lock();
    if (open != nullptr) {
      fabric.rails = open->rail_metrics();
      continue;
    }
    for (RailMetrics& rail : fabric.rails) rail.links = rail.links_up = 0;
    add_to(closed_, fabric.rails);
    fabric.rails.clear();
  }
  std::erase_if(fabrics_, [](const Fabric& fabric) { return fabric.rails.empty(); });
  Rails all = closed_;
  for (const Fabric& fabric : fabrics_) add_to(all, fabric.rails);
  return all;
}

// Every series has the process's number: monitoring takes all files of a host together.
std::string Metrics::text() {
  std::string out;
  const std::string process = fmt::format("pid=\"{}\"", getpid());
  Family(out, "heddle_process_info", "gauge", "The process that these metrics are of.")
      .add(fmt::format("{},host={},version=\"{}.{}.{}\"", process, label_value(base::host_name()),
                       HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH),
           1);
  const auto add_counts = [&](std::string_view name, std::string_view help,
                              std::atomic<std::uint64_t> Counts::*value) {
    Family family(out, name, "counter", help);
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      family.add(fmt::format("{},operation=\"{}\"", process, name_of_kind(kind)),
                 (counts_[kind].*value).load(std::memory_order_relaxed));
  };
  add_counts("heddle_operations_done_total", "Operations of this process that ended well.",
             &Counts::done);
  add_counts("heddle_operations_failed_total", "Operations that ended with an error.",
             &Counts::failed);
  add_counts("heddle_operations_bytes_total",
             "Bytes of the larger buffer of each operation that ended well.", &Counts::bytes);
  const Rails rails = rails_now();
  for (const RailColumn& column : kRailColumns) {
    Family family(out, column.name, column.type, column.help);
    for (const auto& [names, rail] : rails)
      family.add(fmt::format("{},provider={},rail={}", process, label_value(names.first),
                             label_value(names.second)),
                 rail.*column.value);
  }
  return out;
}

std::size_t Metrics::kind_of(const Call& call) {
  switch (call.kind) {
    case Call::Kind::collective: return static_cast<std::size_t>(call.collective);
    case Call::Kind::barrier: return base::kCollectives;
    case Call::Kind::transfers: break;
  }
  return base::kCollectives + 1;
}

std::string_view Metrics::name_of_kind(std::size_t kind) {
  if (kind == base::kCollectives) return "barrier";
  if (kind > base::kCollectives) return "send-receive";
  return base::name_of(static_cast<base::Collective>(kind));
}

}  // namespace heddle::communicator
