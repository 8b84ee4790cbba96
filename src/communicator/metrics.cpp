#include "communicator/metrics.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace heddle::communicator {
namespace {

constexpr std::chrono::seconds kPeriod{1};

std::string quoted(std::string_view text) {
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

void add_rails(std::string& out, const std::vector<transport::RailMetrics>& rails) {
  using Rail = transport::RailMetrics;
  struct Column {
    std::string_view name, type, help;
    std::uint64_t Rail::*value;
  };
  static constexpr Column kColumns[] = {
      {"heddle_rail_sent_bytes_total", "counter", "Bytes sent over the rail.", &Rail::sent_bytes},
      {"heddle_rail_links", "gauge", "Links from the rail to other processes.", &Rail::links},
      {"heddle_rail_links_up", "gauge", "Links that carry messages now.", &Rail::links_up},
      {"heddle_rail_given_up_total", "counter", "Times that a link was given up.", &Rail::given_up},
      {"heddle_rail_came_back_total", "counter", "Times that a link came back.", &Rail::came_back},
      {"heddle_rail_new_endpoints_total", "counter", "Endpoints that replaced another.",
       &Rail::new_endpoints},
      {"heddle_rail_registrations_total", "counter", "Registrations of memory.",
       &Rail::registrations},
  };
  for (const Column& column : kColumns) {
    Family family(out, column.name, column.type, column.help);
    for (const Rail& rail : rails)
      family.add(fmt::format("provider={},rail={}", quoted(rail.provider), quoted(rail.rail)),
                 rail.*column.value);
  }
}

}  // namespace

std::shared_ptr<Metrics> Metrics::open(const std::string& pattern) {
  static std::mutex opening;
  static std::map<std::string, std::weak_ptr<Metrics>> files;
  if (pattern.empty()) return nullptr;
  const std::string path = base::expand_path(pattern);
  const std::lock_guard lock(opening);
  auto& place = files[path];
  auto metrics = place.lock();
  if (metrics) return metrics;
  try {
    place = metrics = std::make_shared<Metrics>(path);
  } catch (const base::Error& error) {
    base::fail(heddleInvalidArgument, "HEDDLE_METRICS_FILE={}: {}", pattern, error.what());
  }
  return metrics;
}

Metrics::Metrics(std::string path) : path_(std::move(path)) {
  base::replace_file(path_, text());
  thread_ = base::start_thread("heddle-metrics", [this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kPeriod, [&] { return stop_; })) write();
  });
}

Metrics::~Metrics() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Metrics::include(const std::shared_ptr<transport::Transport>& transport) {
  if (transport == nullptr) return;
  const std::lock_guard lock(writing_);
  fabrics_[transport.get()].open = transport;
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
  const std::string all = text();
  const std::lock_guard lock(writing_);
  try {
    base::replace_file(path_, all);
    complained_ = false;
  } catch (const base::Error& error) {
    // Monitoring that fails must not stop the job.
    if (!complained_) base::log_warn("HEDDLE_METRICS_FILE: {}", error.what());
    complained_ = true;
  }
}

std::string Metrics::text() {
  std::string out;
  Family(out, "heddle_process_info", "gauge", "The process that these metrics are of.")
      .add(fmt::format("host={},pid=\"{}\",version=\"{}.{}.{}\"", quoted(base::host_name()),
                       getpid(), HEDDLE_MAJOR, HEDDLE_MINOR, HEDDLE_PATCH),
           1);
  const auto add_counts = [&](std::string_view name, std::string_view help,
                              std::atomic<std::uint64_t> Counts::*value) {
    Family family(out, name, "counter", help);
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      family.add(fmt::format("operation=\"{}\"", name_of_kind(kind)),
                 (counts_[kind].*value).load(std::memory_order_relaxed));
  };
  add_counts("heddle_operations_done_total", "Operations of this process that ended well.",
             &Counts::done);
  add_counts("heddle_operations_failed_total", "Operations that ended with an error.",
             &Counts::failed);
  add_counts("heddle_operations_bytes_total",
             "Bytes of the larger buffer of each operation that ended well.", &Counts::bytes);
  const std::lock_guard lock(writing_);
  std::vector<transport::RailMetrics> rails;
  for (auto& [where, fabric] : fabrics_) {
    if (const auto open = fabric.open.lock()) fabric.rails = open->rail_metrics();
    rails.insert(rails.end(), fabric.rails.begin(), fabric.rails.end());
  }
  add_rails(out, rails);
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
