#include "communicator/progress_thread.hpp"

#include <algorithm>
#include <chrono>

#include "communicator/backoff.hpp"
#include "communicator/communicator.hpp"

namespace heddle::communicator {

ProgressThread& ProgressThread::instance() {
  static ProgressThread* const thread = new ProgressThread;
  return *thread;
}

ProgressThread::ProgressThread()
    : thread_(
          "heddle-progress", [this] { run(); },
          [this] {
            {
              const std::lock_guard lock(mutex_);
              stop_ = true;
            }
            changed_.notify_all();
          }) {}

void ProgressThread::start() {
  const std::lock_guard lock(mutex_);
  if (!thread_.started()) thread_.start();
}

void ProgressThread::see_to(std::shared_ptr<Communicator> communicator) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(busy_.begin(), busy_.end(), communicator) != busy_.end()) return;
    busy_.push_back(std::move(communicator));
  }
  changed_.notify_all();
}

void ProgressThread::run() {
  Backoff backoff(Backoff::Duration::zero(), false);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (busy_.empty()) {
      changed_.wait(lock);
      backoff.reset();
      continue;
    }
    auto mine = busy_;
    lock.unlock();
    bool moved = false;
    for (auto& communicator : mine) {
      const auto turn = communicator->take_turn();
      moved = moved || turn == Communicator::Turn::moved;
      if (turn != Communicator::Turn::idle) communicator.reset();
    }
    lock.lock();
    // What is left in `mine` had nothing queued. Something may have come since: then see_to found
    // it in busy_ and did not wake us, so look once more under the lock.
    for (const auto& communicator : mine)
      if (communicator && !communicator->has_work()) std::erase(busy_, communicator);
    lock.unlock();
    mine.clear();  // perhaps the last owner: not under the lock
    if (moved)
      backoff.reset();
    else
      backoff.pause();
    lock.lock();
  }
}

}  // namespace heddle::communicator
