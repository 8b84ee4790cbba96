// Events come in the order of time, and of their coming where times agree.
#include "simulator/event_queue.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace heddle::simulator {
namespace {

TEST_CASE("events come in order, ties in the order of their coming") {
  std::mt19937 random(1);
  EventQueue queue;
  std::vector<std::pair<Time, std::uint32_t>> expected;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto time = static_cast<Time>(random() % 100);
    queue.add(time, i);
    expected.emplace_back(time, i);
  }
  std::sort(expected.begin(), expected.end());
  for (const auto& [time, what] : expected) {
    const Event event = queue.take();
    REQUIRE(event.time == time);
    REQUIRE(event.what == what);
  }
  CHECK(queue.empty());
}

TEST_CASE("order survives the wrapping of its counter") {
  EventQueue queue(std::uint32_t{0} - 2);
  for (std::uint32_t i = 0; i < 4; ++i) queue.add(5, i);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(queue.take().what == i);
}

}  // namespace
}  // namespace heddle::simulator
