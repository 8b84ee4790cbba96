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

TEST_CASE("the queue tells what it gives next, and others that may be soon") {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 50; ++i) queue.add(i * 37 % 50, i);
  while (!queue.empty()) {
    std::vector<std::uint32_t> next, soon;
    queue.look_ahead([&](std::uint32_t what) { next.push_back(what); },
                     [&](std::uint32_t what) { soon.push_back(what); });
    CHECK(soon.size() == std::min<std::size_t>(queue.size() - 1, 4));
    REQUIRE(next.size() == 1);
    CHECK(queue.take().what == next.front());
    // The second of all is a child of the first.
    if (!queue.empty()) {
      std::uint32_t second = 0;
      queue.look_ahead([&](std::uint32_t what) { second = what; }, [](std::uint32_t) {});
      CHECK(std::count(soon.begin(), soon.end(), second) == 1);
    }
  }
  queue.look_ahead([](std::uint32_t) { CHECK(false); }, [](std::uint32_t) { CHECK(false); });
}

}  // namespace
}  // namespace heddle::simulator
