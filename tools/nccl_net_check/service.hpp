// A thread that does what it is given, one thing after the other: NCCL's proxy service thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "nccl_net_check/doing.hpp"

namespace heddle::net_check {

class Service {
 public:
  // `call`: where the thread notes what it does.
  explicit Service(std::atomic<const char*>* call) : thread_([this, call] { work(call); }) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Waiting is the caller's. What `task` throws, the future gives.
  template <typename Task>
  auto post(Task task) {
    auto packed = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    auto result = packed->get_future();
    const std::lock_guard lock(mutex_);
    tasks_.push_back([packed] { (*packed)(); });
    wake_.notify_one();
    return result;
  }

  ~Service() {
    post([this] { over_ = true; });
    thread_.join();
  }

 private:
  void work(std::atomic<const char*>* call) {
    doing = call;
    while (!over_) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !tasks_.empty(); });
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;  // of the thread alone
  std::thread thread_;
};

}  // namespace heddle::net_check
