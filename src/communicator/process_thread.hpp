// A thread of the library that serves the whole process and ends with it. A forked child, where the
// thread does not exist, leaves it alone; so its owner must never be destroyed.
#pragma once

#include <functional>
#include <thread>

namespace heddle::communicator {

class ProcessThread {
 public:
  // `end` makes `body` return soon. It is called when the process exits, in the order opposite to
  // that in which threads were first started, and before the thread is joined.
  ProcessThread(const char* name, std::function<void()> body, std::function<void()> end);
  ProcessThread(const ProcessThread&) = delete;

  // Whether it has been started: it may have returned since.
  bool started() const { return thread_.joinable(); }
  // Starts it, for the first time or after it has returned. Fails with heddleSystemError. Calls
  // must not overlap.
  void start();

 private:
  static void end_all();

  const char* const name_;
  const std::function<void()> body_;
  const std::function<void()> end_;
  std::thread thread_;
  bool listed_ = false;  // among those that end with the process
};

}  // namespace heddle::communicator
