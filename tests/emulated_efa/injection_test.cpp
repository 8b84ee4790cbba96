// What the script injects, as a client sees it.
#include <algorithm>

#include "client.hpp"
#include "errors.hpp"

using namespace client;
using namespace emulated_efa;

namespace {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The order in which 64 writes arrive.
std::vector<std::uint64_t> arrivals(const std::string& seed) {
  // Held long enough that every block fills, however slow the machine is.
  const Setting setting("shuffle window 8 hold 5s", seed);
  Pair pair;
  for (std::uint64_t i = 0; i < 64; ++i) REQUIRE(pair.write(i * 64, 64, i) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 64 && pair.seen_from.size() == 64; }));
  std::vector<std::uint64_t> order;
  for (const Seen& seen : pair.seen_to) order.push_back(seen.entry.data);
  CHECK(std::equal(pair.source.begin(), pair.source.begin() + 4096, pair.target.begin()));
  return order;
}

}  // namespace

TEST_CASE("delivery has the order of its seed") {
  const auto first = arrivals("1");
  CHECK(arrivals("1") == first);
  CHECK(arrivals("2") != first);
  CHECK_FALSE(std::ranges::is_sorted(first));
  CHECK(std::ranges::is_sorted(arrivals("0")));
}

TEST_CASE("writes and messages of many packets are whole in whatever order these come") {
  const std::string seed = GENERATE(as<std::string>(), "1", "2", "3", "4", "5");
  const Setting setting("shuffle window 16 hold 1ms", seed);
  Pair pair;
  REQUIRE(pair.write(0, 1 << 20, 1) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 1; }));
  CHECK(pair.target == pair.source);
  std::ranges::fill(pair.target, 0);
  REQUIRE(fi_recv(pair.to.ep(), pair.target.data(), 1 << 20, pair.to.desc(pair.target_region),
                  FI_ADDR_UNSPEC, &pair.contexts[0]) == 0);
  REQUIRE(fi_send(pair.from.ep(), pair.source.data(), 1 << 20, pair.from.desc(pair.source_region),
                  pair.peer, &pair.contexts[1]) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 2; }));
  CHECK(pair.target == pair.source);
}

TEST_CASE("storms of -FI_EAGAIN come and pass") {
  const Setting setting("again 0 every 5 for 3");
  Pair pair;
  std::vector<long> results;
  for (int i = 0; i < 16; ++i) results.push_back(pair.write(0, 8, 1));
  const long a = -FI_EAGAIN;
  CHECK(results == std::vector<long>{0, 0, 0, 0, 0, a, a, a, 0, 0, 0, 0, 0, a, a, a});
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 10; }));
}

TEST_CASE("a storm lasts its time") {
  const Setting setting("again 0 after 1 for 100ms");
  Pair pair;
  REQUIRE(pair.write(0, 8, 1) == 0);
  const auto begin = Clock::now();
  REQUIRE(pair.write(0, 8, 1) == 0);  // taken, and the last
  long rc = pair.write(0, 8, 1);
  while (rc == -FI_EAGAIN) rc = pair.write(0, 8, 1);
  CHECK(rc == 0);
  CHECK(seconds_since(begin) >= 0.1);
}

TEST_CASE("operations complete with the error of the script") {
  const bool landed = GENERATE(false, true);
  const Setting setting(landed ? "error 0 after 2 for 2 code 8 landed"
                               : "error 0 after 2 for 2 code 8");
  Pair pair;
  for (std::uint64_t i = 0; i < 6; ++i) REQUIRE(pair.write(i * 8, 8, i) == 0);
  REQUIRE(pair.wait(
      [&] { return pair.seen_from.size() == 6 && pair.seen_to.size() == (landed ? 6u : 4u); }));
  int failed = 0;
  for (const Seen& seen : pair.seen_from) {
    if (seen.error == 0) continue;
    ++failed;
    CHECK(seen.error == FI_ECONNABORTED);
    CHECK(seen.status == 8);
    const auto index = static_cast<fi_context2*>(seen.entry.op_context) - pair.contexts;
    CHECK((index == 2 || index == 3));
  }
  CHECK(failed == 2);
  CHECK((pair.target[16] != 0) == landed);
  CHECK(pair.target[32] != 0);
}

TEST_CASE("bandwidth is the adapter's") {
  const Setting setting("bandwidth 0 10MB/s");
  Pair pair;
  const auto begin = Clock::now();
  REQUIRE(pair.write(0, 1 << 20, 1) == 0);
  REQUIRE(pair.wait([&] { return !pair.seen_to.empty(); }));
  CHECK(seconds_since(begin) > 0.09);
}

TEST_CASE("a slow receiver slows its senders") {
  const Setting setting("bandwidth 1 10MB/s");
  Pair pair;
  const auto begin = Clock::now();
  REQUIRE(pair.write(0, 1 << 20, 1) == 0);
  REQUIRE(pair.wait([&] { return !pair.seen_from.empty(); }));
  CHECK(seconds_since(begin) > 0.09);
}

TEST_CASE("a delay comes on top") {
  const Setting setting("delay 1 60ms");
  Pair pair;
  const auto begin = Clock::now();
  REQUIRE(pair.write(0, 8, 1) == 0);
  REQUIRE(pair.wait([&] { return !pair.seen_from.empty(); }));
  CHECK(pair.seen_from[0].error == 0);
  CHECK(seconds_since(begin) >= 0.06);
}

TEST_CASE("an adapter dies after its operations and comes back") {
  const Setting setting("dead 0 after 3 for 150ms");
  Pair pair;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(pair.write(0, 8, 1) == 0);
    CHECK(pair.next_from().error == 0);
  }
  // The fourth is the one too many; everything fails for a while.
  for (int i = 0; i < 2; ++i) {
    REQUIRE(pair.write(64, 8, 1) == 0);
    const Seen seen = pair.next_from();
    CHECK(seen.error == FI_ECONNABORTED);
    CHECK(seen.status == kUnresponsive);
  }
  CHECK(pair.target[64] == 0);
  const auto end = Clock::now() + std::chrono::seconds(10);
  Seen seen;
  do {
    REQUIRE(pair.write(64, 8, 1) == 0);
    seen = pair.next_from();
  } while (seen.error != 0 && Clock::now() < end);
  CHECK(seen.error == 0);
  CHECK(pair.target[64] != 0);
}

TEST_CASE("a peer whose adapter is dead does not respond") {
  const Setting setting("dead 1 at 0s\npatience 100ms");
  Pair pair;
  REQUIRE(pair.write(0, 8, 1) == 0);
  const Seen seen = pair.next_from();
  CHECK((seen.status == kUnresponsive || seen.status == kUnreachable));
  CHECK(pair.target[0] == 0);
}

TEST_CASE("a peer that hangs is an error only to the impatient") {
  {
    const Setting setting("hang 1 at 0s\npatience 100ms");
    Pair pair;
    REQUIRE(pair.write(0, 8, 1) == 0);
    const Seen seen = pair.next_from();
    CHECK((seen.error == FI_ECONNABORTED || seen.error == FI_EHOSTUNREACH));
  }
  const Setting setting("hang 1 at 0s for 300ms\npatience never");
  Pair pair;
  REQUIRE(pair.write(0, 8, 1) == 0);
  CHECK_FALSE(pair.wait([&] { return !pair.seen_from.empty(); }, 0.1));
  REQUIRE(pair.wait([&] { return !pair.seen_from.empty(); }));
  CHECK(pair.seen_from[0].error == 0);
}

TEST_CASE("an endpoint that is gone is an error to its peers") {
  const Setting setting("patience 200ms");
  Pair pair;
  REQUIRE(pair.write(0, 8, 1) == 0);
  CHECK(pair.next_from().error == 0);
  pair.to.close();
  REQUIRE(pair.write(0, 8, 1) == 0);
  const auto end = Clock::now() + std::chrono::seconds(10);
  std::optional<Seen> seen;
  while (!seen && Clock::now() < end) seen = pair.from.poll();
  REQUIRE(seen);
  CHECK(seen->status == kUnresponsive);
}

TEST_CASE("a send without a receive waits, or is an error") {
  const bool error = GENERATE(false, true);
  const Setting setting(error ? "rnr error" : "rnr wait");
  Pair pair;
  REQUIRE(fi_send(pair.from.ep(), pair.source.data(), 8, pair.from.desc(pair.source_region),
                  pair.peer, &pair.contexts[0]) == 0);
  const Seen seen = pair.next_from();
  CHECK(seen.error == (error ? FI_ENORX : 0));
  CHECK(seen.status == (error ? kReceiverNotReady : kFine));
}
