#include "communicator/process_thread.hpp"

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "base/thread.hpp"
#include "communicator/forking.hpp"

namespace heddle::communicator {
namespace {

struct Started {
  std::mutex mutex;
  std::vector<ProcessThread*> threads;  // in the order of their first start
};

Started& all_started() {
  static Started* const started = new Started;  // needed until the process has ended
  return *started;
}

}  // namespace

ProcessThread::ProcessThread(const char* name, std::function<void()> body,
                             std::function<void()> end)
    : name_(name), body_(std::move(body)), end_(std::move(end)) {}

void ProcessThread::start() {
  mind_forks();  // for end_all
  if (thread_.joinable()) thread_.join();
  thread_ = base::start_thread(name_, body_);
  if (std::exchange(listed_, true)) return;
  [[maybe_unused]] static const int at_exit = std::atexit(end_all);
  const std::lock_guard lock(all_started().mutex);
  all_started().threads.push_back(this);
}

void ProcessThread::end_all() {
  if (forked_after_use()) return;  // the threads live in the parent only
  std::vector<ProcessThread*> threads;
  {
    const std::lock_guard lock(all_started().mutex);
    threads.swap(all_started().threads);
  }
  while (!threads.empty()) {
    threads.back()->end_();
    if (threads.back()->thread_.joinable()) threads.back()->thread_.join();
    threads.pop_back();
  }
}

}  // namespace heddle::communicator
