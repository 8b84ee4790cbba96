// The process's control thread. It watches the roots that this process serves and its memberships:
// heartbeats, failures, leaving. It runs only while there is something to watch.
#pragma once

#include <poll.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/fd.hpp"
#include "communicator/process_thread.hpp"

namespace heddle::communicator {

class Watched {
 public:
  virtual ~Watched() = default;
  // Appends what to poll for. Control thread.
  virtual void add_to(std::vector<pollfd>& poll_set) = 0;
  // Does all the work there is, without blocking. Called after every wake-up and at least every
  // kTickMs. Control thread.
  virtual void serve() = 0;
  // Nothing left to do: the service lets go of it.
  virtual bool finished() const = 0;
};

class ControlService {
 public:
  static constexpr int kTickMs = 250;

  static ControlService& instance();

  // Fails with heddleInvalidUsage in a child that was forked after the library was used.
  void watch(std::shared_ptr<Watched> watched);
  // Makes the control thread serve soon.
  void wake();

 private:
  ControlService();
  void run();
  void serve_last(const std::vector<std::shared_ptr<Watched>>& watched);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Watched>> watched_;  // shared with the communicators
  ProcessThread thread_;
  base::UniqueFd wake_;
  bool running_ = false;
  bool stop_ = false;
};

}  // namespace heddle::communicator
