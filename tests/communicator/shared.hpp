// An object that a test and the processes that it forks have in common.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "base/deadline.hpp"

namespace heddle::test {

template <typename Object>
class Shared {
 public:
  Shared() {
    void* const memory =
        mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    object_ = new (memory) Object{};
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(object_, sizeof(Object)); }

  Object& operator*() const { return *object_; }

 private:
  Object* object_;
};

// Whether another process brings `value` to `least` in time.
template <typename T>
bool reached(const std::atomic<T>& value, T least) {
  const base::Deadline deadline(base::Seconds(40));
  while (value < least && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return value >= least;
}

}  // namespace heddle::test
