// The exception that set-up code and fatal conditions throw; it stops at the C boundary, at the
// plugins and at the progress loop. "Try again" is never an exception.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "heddle/heddle.h"

namespace heddle::base {

class Error : public std::runtime_error {
 public:
  Error(heddleResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  heddleResult_t code() const { return code_; }

 private:
  heddleResult_t code_;
};

template <typename... Args>
[[noreturn]] void fail(heddleResult_t code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// The text of an errno value, thread-safe.
std::string errno_text(int error);

// Fails with heddleSystemError: "what: text of errno (number)".
[[noreturn]] void fail_errno(int error, const std::string& what);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   const std::string& values);

}  // namespace heddle::base

// A fault of this library, never an operating error; on in release builds. Prints the values.
#define HEDDLE_ASSERT(condition, ...)                                  \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::heddle::base::assertion_failed(#condition, __FILE__, __LINE__, \
                                       fmt::format("" __VA_ARGS__));   \
  } while (false)
