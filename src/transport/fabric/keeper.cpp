#include "transport/fabric/keeper.hpp"

#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/thread.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::chrono::milliseconds kPeriod{10};

}  // namespace

// All that run, to be stopped at exit: libfabric unloads its providers then, and a program may
// return from main with its communicators. Never destroyed.
class RunningKeepers {
 public:
  static RunningKeepers& instance() {
    static RunningKeepers* const all = [] {
      auto made = std::make_unique<RunningKeepers>();
      std::atexit([] { instance().stop_all(); });
      return made.release();
    }();
    return *all;
  }

  void add(Keeper* keeper) {
    const std::lock_guard lock(mutex_);
    keepers_.insert(keeper);
  }
  void remove(Keeper* keeper) {
    const std::lock_guard lock(mutex_);
    keepers_.erase(keeper);
  }

 private:
  void stop_all() {
    if (getpid() != process_) return;  // the threads, and perhaps the lock, are the parent's
    const std::lock_guard lock(mutex_);
    for (Keeper* keeper : keepers_) keeper->join();
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::set<Keeper*> keepers_;
};

Keeper::~Keeper() { stop(); }

void Keeper::start(std::function<void()> look) {
  if (process_ != 0) return;
  thread_ = std::make_unique<std::thread>(
      base::start_thread("heddle-rails", [this, look = std::move(look)] {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, kPeriod, [&] { return stop_; })) look();
      }));
  process_ = getpid();
  RunningKeepers::instance().add(this);
}

void Keeper::stop() {
  if (process_ == 0) return;
  if (getpid() != process_) {
    static_cast<void>(thread_.release());  // nothing to join, and what it held stays held
    return;
  }
  RunningKeepers::instance().remove(this);
  join();
}

void Keeper::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_->joinable()) thread_->join();
}

}  // namespace heddle::transport::fabric
