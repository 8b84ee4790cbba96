// What a process has done and how its rails fare, in a file that monitoring reads while it runs
// (HEDDLE_METRICS_FILE): Prometheus' text format, written anew every second.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "communicator/operation.hpp"
#include "communicator/process_thread.hpp"
#include "transport/pipe.hpp"

namespace heddle::communicator {

// Any thread may call anything. Lives as long as the process, whose counts only grow.
class Metrics {
 public:
  // The one that writes this file; null when `pattern` is empty. Each process needs a file of its
  // own. Fails with heddleInvalidArgument when the file cannot be written.
  static Metrics* open(const std::string& pattern);
  Metrics(const Metrics&) = delete;

  // Tells of its rails from now on. Null is nothing to tell of.
  void include(const std::shared_ptr<transport::Transport>& transport);
  // Counts an operation that ends so; costs two atomic additions.
  void count(const Call& call, heddleResult_t result, int ranks);
  // Never fails: what goes wrong is logged once.
  void write();

 private:
  // Collectives, then barriers, then groups of sends and receives.
  static constexpr std::size_t kKinds = base::kCollectives + 2;
  struct Counts {
    std::atomic<std::uint64_t> done{0}, failed{0}, bytes{0};
  };
  struct Fabric {
    std::weak_ptr<transport::Transport> open;
    std::vector<transport::RailMetrics> rails;  // the latest
  };
  // Of one rail of one provider, by the names of both.
  using Rails = std::map<std::pair<std::string, std::string>, transport::RailMetrics>;

  explicit Metrics(std::string path);
  static std::size_t kind_of(const Call& call);
  static std::string_view name_of_kind(std::size_t kind);
  Rails rails_now();
  std::string text();

  const std::string path_;
  std::array<Counts, kKinds> counts_;
  std::mutex writing_;  // guards the file and the next three
  std::vector<Fabric> fabrics_;
  Rails closed_;  // sums of fabrics that are gone
  bool complained_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  ProcessThread thread_;
};

}  // namespace heddle::communicator
