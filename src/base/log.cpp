#include "base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/files.hpp"
#include "base/host_name.hpp"

namespace heddle::base {
namespace {

struct Sink {
  std::mutex mutex;
  UniqueFd file;  // invalid: standard error
  std::string name;
};

Sink& sink() {
  // Never destroyed: threads may log while the process exits.
  static Sink* const instance = new Sink;
  return *instance;
}

std::atomic<LogLevel> current_level{LogLevel::warn};
std::atomic<LogSink> other_sink{nullptr};

constexpr std::string_view kLevelNames[] = {"NONE", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

}  // namespace

void configure_log(LogLevel level, const std::string& file) {
  current_level = level;
  const std::lock_guard lock(sink().mutex);
  if (file == sink().name) return;
  UniqueFd opened;
  if (!file.empty()) {
    const std::string path = expand_path(file);
    opened = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!opened)
      fail(heddleInvalidArgument, "HEDDLE_LOG_FILE={}: cannot write {}: {}", file, path,
           errno_text(errno));
  }
  sink().file = std::move(opened);
  sink().name = file;
}

LogLevel log_level() { return current_level.load(std::memory_order_relaxed); }

void set_log_sink(LogSink other) { other_sink = other; }

void write_log(LogLevel level, std::string_view text) {
  const int saved = errno;
  const LogSink other = other_sink.load();
  if (other != nullptr) other(level, text);
  static const std::string* const host = new std::string(host_name());  // as the sink
  const std::string line = fmt::format("{}:{} HEDDLE {} {}\n", *host, getpid(),
                                       kLevelNames[static_cast<int>(level)], text);
  const std::lock_guard lock(sink().mutex);
  if (sink().file || other == nullptr) {
    const int fd = sink().file ? sink().file.get() : STDERR_FILENO;
    // A log that cannot be written must not stop the job.
    [[maybe_unused]] const auto written = write(fd, line.data(), line.size());
  }
  errno = saved;
}

}  // namespace heddle::base
