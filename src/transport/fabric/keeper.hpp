// A thread that drives the transport when nobody else does. With several rails, others need answers
// between operations: acknowledgements, probes, new addresses, the closing of an endpoint. After an
// operation that failed, others' adapters may still read memory that is meant for us.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/thread.hpp"

namespace heddle::transport::fabric {

class Keeper {
 public:
  ~Keeper() { stop(); }

  // Calls `look` every few milliseconds, from a thread of its own, until stop. Once: later calls do
  // nothing.
  void start(std::function<void()> look) {
    if (thread_.joinable()) return;
    thread_ = base::start_thread("heddle-rails", [this, look = std::move(look)] {
      std::unique_lock lock(mutex_);
      while (!wake_.wait_for(lock, kPeriod, [&] { return stop_; })) look();
    });
  }
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  static constexpr std::chrono::milliseconds kPeriod{10};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace heddle::transport::fabric
