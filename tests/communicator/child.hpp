// A forked process that cannot outlive its test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "base/deadline.hpp"

namespace heddle::test {

class Child {
 public:
  // No status that a sanitizer ends with.
  static constexpr int kFailed = 3;

  // Forks a process that runs `body` and ends with _exit: with 0, or with kFailed and a line on
  // standard error when `body` throws.
  explicit Child(const std::function<void()>& body);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills and reaps what still runs

  pid_t pid() const { return pid_; }
  // The status of waitpid(2), or nothing when the process still runs after `time`.
  std::optional<int> wait(base::Seconds time);

 private:
  pid_t pid_;  // 0: reaped or moved from
};

}  // namespace heddle::test
