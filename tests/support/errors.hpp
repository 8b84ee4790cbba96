// What was thrown, as text.
#pragma once

#include <exception>
#include <string>

namespace heddle::test {

// The text of the Exception that `attempt` throws, or "" when it throws nothing.
template <typename Exception = std::exception, typename Attempt>
std::string what_of(Attempt attempt) {
  try {
    attempt();
  } catch (const Exception& thrown) {
    return thrown.what();
  }
  return "";
}

}  // namespace heddle::test
