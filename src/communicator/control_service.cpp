#include "communicator/control_service.hpp"

#include <sys/eventfd.h>

#include <memory>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "communicator/forking.hpp"

namespace heddle::communicator {
namespace {

void serve_all(const std::vector<std::shared_ptr<Watched>>& all) {
  for (const auto& watched : all) {
    try {
      watched->serve();
    } catch (const std::exception& error) {
      base::log_error("control thread: {}", error.what());
    }
  }
}

}  // namespace

ControlService& ControlService::instance() {
  static ControlService* const service = new ControlService;
  return *service;
}

ControlService::ControlService()
    : thread_(
          "heddle-control", [this] { run(); },
          [this] {
            {
              const std::lock_guard lock(mutex_);
              stop_ = true;
            }
            wake();
          }) {}

void ControlService::watch(std::shared_ptr<Watched> watched) {
  if (forked_after_use())
    base::fail(heddleInvalidUsage,
               "this process was forked after its parent had used Heddle; fork before the first "
               "call, or exec");
  const std::lock_guard lock(mutex_);
  if (!wake_) wake_ = base::UniqueFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_) base::fail_errno(errno, "eventfd of the control thread");
  watched_.push_back(std::move(watched));
  if (!running_) {
    thread_.start();
    running_ = true;
  }
  wake();
}

void ControlService::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
}

void ControlService::run() {
  std::vector<std::shared_ptr<Watched>> mine;
  std::vector<pollfd> poll_set;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(watched_, [](const auto& watched) { return watched->finished(); });
      mine = watched_;
      running_ = !stop_ && !mine.empty();
      if (!running_) break;
    }
    poll_set.assign(1, pollfd{wake_.get(), POLLIN, 0});
    for (const auto& watched : mine) watched->add_to(poll_set);
    poll(poll_set.data(), poll_set.size(), kTickMs);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
    serve_all(mine);
    mine.clear();
  }
  if (!mine.empty()) serve_last(mine);  // the process ends
}

// A rank of this process may just have told the root, here as well, why it fails. The others must
// hear of it before the process and their connections are gone.
void ControlService::serve_last(const std::vector<std::shared_ptr<Watched>>& watched) {
  constexpr int kQuietMs = 20;
  const base::Deadline deadline(base::Seconds(0.3));
  std::vector<pollfd> poll_set;
  do {
    poll_set.clear();
    serve_all(watched);
    for (const auto& one : watched)
      if (!one->finished()) one->add_to(poll_set);
  } while (!deadline.passed() && poll(poll_set.data(), poll_set.size(), kQuietMs) > 0);
}

}  // namespace heddle::communicator
