#include "harness/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace heddle::bench {

Progress::Progress(bool shown) {
  if (shown && isatty(STDERR_FILENO)) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::begin(const std::string& what) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
    ++turn_;
  }
  changed_.notify_one();
}

void Progress::end() {
  if (!thread_.joinable()) return;
  const std::lock_guard lock(mutex_);
  what_.clear();
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [this] { return stop_ || !what_.empty(); });
    const unsigned turn = turn_;
    // A row that ends meanwhile is noticed at the next second: waking for it would cost it time.
    for (int seconds = 1; !stop_ && turn == turn_ && !what_.empty(); ++seconds) {
      changed_.wait_for(lock, std::chrono::seconds(1), [&] { return stop_ || turn != turn_; });
      if (stop_ || turn != turn_ || what_.empty()) break;
      fmt::print(stderr, "\r{}: {} s\033[K", what_, seconds);
      std::fflush(stderr);
      drawn_ = true;
    }
  }
}

}  // namespace heddle::bench
