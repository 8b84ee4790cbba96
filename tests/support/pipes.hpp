// What the tests of pipes share: keys, messages whose every byte is known, and loops that end in an
// error instead of a hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "transport/pipe.hpp"

namespace heddle::test {

inline constexpr base::Seconds kPatience{30};  // every wait of a test ends by then
inline constexpr transport::CommunicatorId kCommunicator = {1, 2, 3};

inline transport::PipeKey key(int from, int to, int channel = 0) {
  return {kCommunicator, from, to, channel};
}

// Byte `offset` of message `number` of a pipe: depends on all three.
inline std::byte pattern(std::uint64_t pipe, std::uint64_t number, std::size_t offset) {
  return static_cast<std::byte>((offset * 131 + offset / 251 + number * 17 + pipe * 29) & 0xff);
}

// Calls until it gives something that is not null or false, and `between` after each call that did
// not; fails when patience ends.
template <typename Attempt, typename Between>
auto eventually(const char* what, Attempt attempt, Between between) {
  const base::Deadline deadline(kPatience);
  while (true) {
    if (auto result = attempt()) return result;
    between();
    if (deadline.passed())
      base::fail(heddleTimeout, "test: {} did not happen in {} s", what, kPatience.count());
    std::this_thread::yield();
  }
}

}  // namespace heddle::test
