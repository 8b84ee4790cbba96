// The process's thread for works that nobody waits for. Asleep unless a communicator has some.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator/process_thread.hpp"

namespace heddle::communicator {

class Communicator;

class ProgressThread {
 public:
  static ProgressThread& instance();

  // Makes sure that the thread runs. Fails with heddleSystemError when it cannot be started.
  void start();
  // Drives the communicator until it has nothing queued. Cheap when it is driven already.
  void see_to(std::shared_ptr<Communicator> communicator);

 private:
  ProgressThread();
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Communicator>> busy_;  // shared with the program's handle
  ProcessThread thread_;
  bool stop_ = false;
};

}  // namespace heddle::communicator
