#include "shuffle.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace emulated_efa;
using namespace std::chrono_literals;

namespace {

constexpr Nanoseconds kHold = 1ms;

// The order in which `count` packets leave that arrive in their own order.
std::vector<int> order(std::uint64_t seed, std::uint32_t window, int count) {
  Shuffle<int> shuffle(seed, window, kHold);
  const Clock::time_point now{};
  std::vector<int> left;
  for (int i = 0; i < count; ++i) shuffle.arrived(i, static_cast<std::uint64_t>(i), now);
  while (const auto next = shuffle.next(now + kHold)) left.push_back(*next);
  return left;
}

std::vector<int> sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

}  // namespace

TEST_CASE("an order is the seed's, and the same again") {
  CHECK(order(1, 8, 100) == order(1, 8, 100));
  CHECK(order(1, 8, 100) != order(2, 8, 100));
  CHECK(order(1, 8, 100) != order(1, 16, 100));
  CHECK_FALSE(std::ranges::is_sorted(order(1, 8, 100)));
}

TEST_CASE("every packet leaves once") {
  for (const std::uint64_t seed : {1, 2, 77})
    for (const std::uint32_t window : {2u, 8u, 64u})
      for (const int count : {1, 7, 8, 9, 100})
        CHECK(sorted(order(seed, window, count)) == sorted(order(0, window, count)));
}

TEST_CASE("seed 0 and a window of one keep the order") {
  CHECK(std::ranges::is_sorted(order(0, 8, 100)));
  CHECK(std::ranges::is_sorted(order(5, 1, 100)));
}

TEST_CASE("the order does not depend on when the packets of a block arrive") {
  const std::vector<int> expected = order(3, 8, 16);
  std::vector<int> arrival(16);
  for (int i = 0; i < 16; ++i) arrival[static_cast<std::size_t>(i)] = i;
  std::ranges::reverse(arrival);
  Shuffle<int> shuffle(3, 8, kHold);
  std::vector<int> first, second;
  for (const int i : arrival) {
    shuffle.arrived(i, static_cast<std::uint64_t>(i), {});
    while (const auto next = shuffle.next({})) (*next < 8 ? first : second).push_back(*next);
  }
  first.insert(first.end(), second.begin(), second.end());
  CHECK(first == expected);
}

TEST_CASE("a block that does not fill waits for its time and no longer") {
  Shuffle<int> shuffle(1, 8, kHold);
  const Clock::time_point now{};
  for (const int i : {0, 1, 2}) shuffle.arrived(i, static_cast<std::uint64_t>(i), now);
  CHECK_FALSE(shuffle.next(now + kHold - 1us));
  std::vector<int> left;
  while (const auto next = shuffle.next(now + kHold)) left.push_back(*next);
  CHECK(sorted(left) == std::vector<int>{0, 1, 2});
  // The late ones complete the block, and are held no longer.
  for (const int i : {3, 4, 5, 6, 7}) shuffle.arrived(i, static_cast<std::uint64_t>(i), now);
  left.clear();
  while (const auto next = shuffle.next(now)) left.push_back(*next);
  CHECK(sorted(left) == std::vector<int>{3, 4, 5, 6, 7});
}
