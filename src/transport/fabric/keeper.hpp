// A thread that drives the transport when nobody else does. With several rails, others need answers
// between operations: acknowledgements, probes, new addresses, the closing of an endpoint. After an
// operation that failed, others' adapters may still read memory that is meant for us.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace heddle::transport::fabric {

class Keeper {
 public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  ~Keeper();

  // Calls `look` every few milliseconds, from a thread of its own, until stop or until the process
  // exits. Once: later calls do nothing.
  void start(std::function<void()> look);
  void stop();

 private:
  void join();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  pid_t process_ = 0;  // that has the thread; a forked child does not
  std::unique_ptr<std::thread> thread_;

  friend class RunningKeepers;
};

}  // namespace heddle::transport::fabric
