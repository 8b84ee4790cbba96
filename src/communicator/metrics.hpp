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
#include <thread>
#include <vector>

#include "communicator/operation.hpp"
#include "transport/pipe.hpp"

namespace heddle::communicator {

class Metrics {
 public:
  // The one that writes this file already, or a new one; null when `pattern` is empty. Its owners
  // are the communicators. Fails with heddleInvalidArgument when the file cannot be written.
  static std::shared_ptr<Metrics> open(const std::string& pattern);
  explicit Metrics(std::string path);
  Metrics(const Metrics&) = delete;
  ~Metrics();

  // Includes its rails from now on. Null is nothing to include.
  void include(const std::shared_ptr<transport::Transport>& transport);
  // Counts an operation that ends so. Any thread; costs two atomic additions.
  void count(const Call& call, heddleResult_t result, int ranks);
  void write();

 private:
  std::string text();

  // Collectives, then barriers, then groups of sends and receives.
  static constexpr std::size_t kKinds = base::kCollectives + 2;
  struct Counts {
    std::atomic<std::uint64_t> done{0}, failed{0}, bytes{0};
  };
  struct Fabric {
    std::weak_ptr<transport::Transport> open;
    std::vector<transport::RailMetrics> rails;  // the latest
  };

  static std::size_t kind_of(const Call& call);
  static std::string_view name_of_kind(std::size_t kind);

  const std::string path_;
  std::array<Counts, kKinds> counts_;
  std::mutex writing_;  // guards the file and the next two
  std::map<const transport::Transport*, Fabric> fabrics_;
  bool complained_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace heddle::communicator
