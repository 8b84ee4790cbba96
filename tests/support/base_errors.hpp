// What of the library's errors was thrown, as text.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "catch.hpp"

namespace heddle::test {

// The text of the base::Error that `attempt` throws, with its code in front, or "" when it throws
// none. Any thread.
template <typename Attempt>
std::string error_of(Attempt attempt) {
  try {
    attempt();
  } catch (const base::Error& error) {
    return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
  }
  return "";
}

// Its text alone; the code must be `code`. The test's own thread.
template <typename Attempt>
std::string error_of(Attempt attempt, heddleResult_t code) {
  try {
    attempt();
  } catch (const base::Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

}  // namespace heddle::test
