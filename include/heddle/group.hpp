// Groups of calls: what operations.h says of heddleGroupStart, around a closure.
#pragma once

#include <utility>

#include "heddle/handles.hpp"
#include "heddle/heddle.h"

namespace heddle {

namespace detail {
// Runs `body` in a group and leaves the group open. A group whose body threw is spoilt, by a call
// that cannot succeed, so that its end does nothing.
template <typename Body>
void note_group(Body&& body) {
  check(heddleGroupStart());
  try {
    std::forward<Body>(body)();
  } catch (...) {
    (void)heddleBarrier(nullptr, nullptr);
    (void)heddleGroupEnd();
    throw;
  }
}
}  // namespace detail

// Runs `body`, whose calls (of this thread, not the ..._async forms) only note what is to be done,
// then does all of it and waits: on each communicator the sends and receives together, so that they
// never wait for each other. Buffers must stay until then. What `body` throws ends the group
// without anything being done.
template <typename Body>
void group(Body&& body) {
  detail::note_group(std::forward<Body>(body));
  detail::check(heddleGroupEnd());
}
// The same without waiting: one work for everything. The calls must be of one communicator.
template <typename Body>
[[nodiscard]] Work group_async(Body&& body) {
  detail::note_group(std::forward<Body>(body));
  heddleWork_t work = nullptr;
  detail::check(heddleGroupEndAsync(&work));
  return Work(work);
}

}  // namespace heddle
