// How a behaviour says that the plugin is at fault.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "nccl_net_check/net.hpp"

namespace heddle::net_check {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Another rank went away, or does not answer: it has the better story.
struct PeerGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The behaviour does not apply to this plugin.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(fmt::format(format, std::forward<Args>(args)...));
}

inline void expect(Result result, const char* call) {
  if (result != Result::success) fault("{}: {}", call, text_of(result));
}

}  // namespace heddle::net_check
