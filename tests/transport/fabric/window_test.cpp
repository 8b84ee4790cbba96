// The bookkeeping of one connection under any order of arrival.
#include "transport/fabric/window.hpp"

#include <algorithm>
#include <random>

#include "catch.hpp"

using namespace heddle::transport::fabric;

namespace {

struct Event {
  std::uint64_t sequence;
  std::uint32_t stripe;
  std::uint32_t stripes;  // 0: came as one message
};

// All that arrives of messages first to first + slots - 1, shuffled.
std::vector<Event> shuffled(std::uint64_t first, std::uint32_t slots, std::mt19937& random) {
  std::vector<Event> events;
  for (std::uint64_t n = first; n < first + slots; ++n) {
    const std::uint32_t stripes = random() % (kMaxStripes + 1);
    if (stripes == 0) events.push_back({n, 0, 0});
    for (std::uint32_t i = 0; i < stripes; ++i) events.push_back({n, i, stripes});
  }
  std::shuffle(events.begin(), events.end(), random);
  return events;
}

}  // namespace

TEST_CASE("messages come out in order whatever the order of arrival") {
  std::mt19937 random(1);
  for (const std::uint32_t slots : {4u, 5u, 64u}) {
    Arrivals arrivals(slots);
    std::uint64_t read = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<std::uint32_t> missing(slots, 0);
      std::vector<Event> events = shuffled(read, slots, random);
      for (const Event& e : events) ++missing[e.sequence - read];
      const std::uint64_t first = read;
      for (const Event& e : events) {
        CHECK_FALSE(arrivals.has(e.sequence, e.stripe));
        if (e.stripes == 0)
          CHECK(arrivals.message(e.sequence, nullptr, 7, e.sequence));
        else
          CHECK(
              arrivals.stripe({1, static_cast<std::uint8_t>(e.sequence), e.stripe, e.stripes}, 0));
        CHECK(arrivals.has(e.sequence, e.stripe));
        --missing[e.sequence - first];
        while (arrivals.front() != nullptr) {
          REQUIRE(read < first + slots);
          REQUIRE(missing[read - first] == 0);
          ++read;
          arrivals.pop();
        }
      }
      REQUIRE(read == first + slots);
      // Also of messages that are over.
      for (const Event& e : events) CHECK(arrivals.has(e.sequence, e.stripe));
      CHECK(arrivals.arrived() == read);
    }
  }
}

TEST_CASE("duplicates and strays do not count") {
  Arrivals arrivals(4);
  CHECK(arrivals.stripe({1, 0, 0, 2}, 0));
  CHECK_FALSE(arrivals.stripe({1, 0, 0, 2}, 0));    // again
  CHECK_FALSE(arrivals.stripe({1, 0, 1, 3}, 0));    // other number of stripes
  CHECK_FALSE(arrivals.stripe({1, 0, 2, 2}, 0));    // no such stripe
  CHECK_FALSE(arrivals.stripe({1, 4, 0, 1}, 0));    // beyond the window
  CHECK_FALSE(arrivals.stripe({1, 255, 0, 1}, 0));  // before it
  CHECK_FALSE(arrivals.message(0, nullptr, 1, 0));  // half here as stripes
  CHECK(arrivals.front() == nullptr);
  CHECK(arrivals.stripe({1, 0, 1, 2}, 0));
  CHECK(arrivals.front() != nullptr);
  CHECK_FALSE(arrivals.stripe({1, 0, 1, 2}, 0));
  CHECK(arrivals.message(3, nullptr, 1, 0));
  CHECK_FALSE(arrivals.message(3, nullptr, 1, 0));
  CHECK_FALSE(arrivals.message(4, nullptr, 1, 0));
  CHECK(arrivals.arrived() == 2);
}

TEST_CASE("every cookie is handed out once, those behind a gap too") {
  Arrivals arrivals(4);
  CHECK(arrivals.stripe({1, 0, 0, 2}, 0));  // half of message 0
  CHECK(arrivals.message(1, nullptr, 1, 11));
  CHECK(arrivals.message(3, nullptr, 1, 33));
  std::vector<std::uint64_t> cookies;
  const auto keep = [&](std::uint64_t cookie) { cookies.push_back(cookie); };
  arrivals.take_cookies(keep);
  CHECK(cookies == std::vector<std::uint64_t>{11, 33});
  arrivals.take_cookies(keep);
  CHECK(cookies.size() == 2);
  CHECK_FALSE(arrivals.message(3, nullptr, 1, 34));  // a duplicate still
  CHECK(arrivals.arrived() == 2);
}

TEST_CASE("credits are used in order whatever the order of arrival") {
  std::mt19937 random(2);
  Grants grants(8);
  std::vector<std::uint64_t> order(8);
  for (std::uint64_t first = 0; first < 800; first += 8) {
    for (std::size_t i = 0; i < 8; ++i) order[i] = first + i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::uint64_t n : order) {
      CHECK(grants.grant(n, {n, 1, {}}));
      CHECK_FALSE(grants.grant(n, {n, 1, {}}));
    }
    for (std::uint64_t n = first; n < first + 8; ++n) {
      REQUIRE(grants.front() != nullptr);
      CHECK(grants.front()->address == n);
      grants.use();
    }
    CHECK(grants.front() == nullptr);
  }
}

TEST_CASE("a message sent ahead of its credit makes that credit void") {
  Grants grants(4);
  grants.use();
  grants.use();
  CHECK_FALSE(grants.grant(0, {}));
  CHECK_FALSE(grants.grant(1, {}));
  CHECK(grants.grant(2, {22, 1, {}}));
  CHECK(grants.front()->address == 22);
  grants.done(2);
  grants.done(1);  // a later arrival of an earlier message
  CHECK(grants.done() == 2);
}

TEST_CASE("the immediate holds its four numbers") {
  for (const Immediate& one :
       {Immediate{0, 0, 0, 1}, Immediate{65535, 255, 15, 16}, Immediate{1234, 56, 7, 9}}) {
    const Immediate back = unpack(pack(one));
    CHECK(back.connection == one.connection);
    CHECK(int(back.sequence) == int(one.sequence));
    CHECK(back.stripe == one.stripe);
    CHECK(back.stripes == one.stripes);
  }
}

TEST_CASE("sequence numbers extend from their low bits across the wrap") {
  for (const std::uint64_t about : {0ull, 5ull, 0xfffffff0ull, 0x100000000ull, 0x1234567890ull})
    for (int offset = -3; offset < 70; ++offset) {
      if (offset < 0 && about < 3) continue;
      const std::uint64_t n = about + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset));
      CHECK(extend(static_cast<std::uint32_t>(n), about) == n);
    }
}
