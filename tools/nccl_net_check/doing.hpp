// Which call of the plugin a thread is in, in memory that the parent reads once the process was
// killed or has crashed: names are literals of this program, which all its forks share.
#pragma once

#include <atomic>

namespace heddle::net_check {

struct Doings {
  std::atomic<const char*> user, service, progress;  // null: not in the plugin
};

// Where this thread writes; null: nowhere.
inline thread_local std::atomic<const char*>* doing = nullptr;

class Doing {
 public:
  explicit Doing(const char* call) {
    if (doing) doing->store(call, std::memory_order_relaxed);
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  ~Doing() {
    if (doing) doing->store(nullptr, std::memory_order_relaxed);
  }
};

}  // namespace heddle::net_check
