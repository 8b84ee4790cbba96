// A line on standard error for a row that takes long, when a person is watching: it appears after a
// second, counts the seconds, and is erased when the row is there.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace heddle::bench {

class Progress {
 public:
  // Silent (and without a thread) unless `shown` and standard error is a terminal.
  explicit Progress(bool shown);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void begin(const std::string& what);
  void end();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;  // empty: nothing under way
  bool drawn_ = false;
  bool stop_ = false;
  unsigned turn_ = 0;  // of begin()
  std::thread thread_;
};

}  // namespace heddle::bench
