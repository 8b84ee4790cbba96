// Which adapters become rails, which rails of two processes belong together, and how a message is
// shared out over them.
#include <algorithm>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "transport/fabric/rail_choice.hpp"
#include "transport/fabric/rail_pairing.hpp"
#include "transport/fabric/striping.hpp"

using namespace heddle;
using namespace heddle::transport::fabric;

namespace {

std::vector<Adapter> four() {
  std::vector<Adapter> adapters(4);
  for (std::size_t i = 0; i < 4; ++i) adapters[i].name = "rdmap" + std::to_string(16 + i) + "s27";
  return adapters;
}

using Indices = std::vector<std::size_t>;
using Networks = std::vector<std::string>;

std::vector<std::pair<int, int>> pairs(const Networks& ours, const Networks& theirs, bool lead) {
  std::vector<std::pair<int, int>> result;
  for (const RailPair& pair : pair_rails(ours, theirs, lead))
    result.emplace_back(pair.ours, pair.theirs);
  return result;
}

using Pairs = std::vector<std::pair<int, int>>;

RailLoad load(double speed, std::uint64_t under_way = 0, bool usable = true) {
  return {usable, speed, under_way};
}

}  // namespace

TEST_CASE("HEDDLE_RAILS: all, so many, or these") {
  const auto adapters = four();
  CHECK(choose_rails("all", adapters) == Indices{0, 1, 2, 3});
  CHECK(choose_rails("1", adapters) == Indices{0});
  CHECK(choose_rails("3", adapters) == Indices{0, 1, 2});
  CHECK(choose_rails("99999999999999999999999", adapters) == Indices{0, 1, 2, 3});
  CHECK(choose_rails("rdmap18s27,rdmap16s27,rdmap18s27", adapters) == Indices{0, 2});
}

TEST_CASE("HEDDLE_RAILS: more than there are is said") {
  CHECK(fewer_rails("all", 1).empty());
  CHECK(fewer_rails("2", 2).empty());
  CHECK(fewer_rails("rdmap16s27", 1).empty());
  CHECK(fewer_rails("2", 1) ==
        "HEDDLE_RAILS=2: this process has 1 adapter that it may use, and uses that one");
  CHECK_THAT(fewer_rails("8", 4), Catch::Matchers::Contains("4 adapters"));
}

TEST_CASE("bad-interface-name: an adapter that is not there") {
  for (const std::string asked : {"eth7", "rdmap16s27,", "", "rdmap16s27,eth7", "0", "-1", " 4 "}) {
    INFO(asked);
    try {
      choose_rails(asked, four());
      FAIL("taken");
    } catch (const base::Error& error) {
      CHECK(error.code() == heddleInvalidArgument);
      CHECK_THAT(error.what(), Catch::Matchers::Contains("HEDDLE_RAILS=" + asked));
      CHECK_THAT(error.what(),
                 Catch::Matchers::Contains("rdmap16s27, rdmap17s27, rdmap18s27, rdmap19s27"));
    }
  }
}

TEST_CASE("rails are paired by network, then as they come") {
  const Networks a = {"n0", "n1", "n2", "n3"};
  CHECK(pairs(a, {"n2"}, true) == Pairs{{2, 0}});
  CHECK(pairs(a, {"n3", "n0"}, true) == Pairs{{0, 1}, {3, 0}});
  CHECK(pairs(a, {"x", "n1"}, true) == Pairs{{0, 0}, {1, 1}});  // the probe tells whether 0-0 works
  CHECK(pairs({"", "", ""}, {"", ""}, true) == Pairs{{0, 0}, {1, 1}});
  CHECK(pairs({"n", "n"}, {"n", "n", "n"}, true) == Pairs{{0, 0}, {1, 1}});
  CHECK(pairs({}, {"n"}, true).empty());
}

TEST_CASE("both ends pair alike and number the pairs alike") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto networks = [&] {
      Networks list(random() % 6);
      for (std::string& one : list) one = std::vector<std::string>{"", "a", "b", "c"}[random() % 4];
      return list;
    };
    const Networks a = networks(), b = networks();
    const Pairs here = pairs(a, b, true), there = pairs(b, a, false);
    REQUIRE(here.size() == std::min(a.size(), b.size()));
    REQUIRE(there.size() == here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      REQUIRE(here[i].first == there[i].second);
      REQUIRE(here[i].second == there[i].first);
    }
  }
}

TEST_CASE("stripes are the message, whatever the loads") {
  std::mt19937 random(3);
  std::vector<Stripe> stripes;
  for (int round = 0; round < 20000; ++round) {
    std::vector<RailLoad> loads(1 + random() % 20);
    bool any = false;
    for (RailLoad& one : loads) {
      one = load(1 + random() % 100, random() % (8 << 20), random() % 4 != 0);
      any |= one.usable;
    }
    const std::size_t bytes = 1 + random() % (16 << 20);
    share_out(bytes, loads, 64 << 10, 16, stripes);
    REQUIRE(stripes.empty() != any);
    REQUIRE(stripes.size() <= 16);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < stripes.size(); ++i) {
      REQUIRE(loads[static_cast<std::size_t>(stripes[i].link)].usable);
      REQUIRE(stripes[i].bytes > 0);
      if (i + 1 < stripes.size()) REQUIRE(stripes[i].bytes % 128 == 0);
      if (stripes.size() > 1) REQUIRE(stripes[i].bytes > (64 << 10) - 128 * 16);
      if (i > 0) REQUIRE(stripes[i].link > stripes[i - 1].link);
      sum += stripes[i].bytes;
    }
    REQUIRE((sum == bytes || !any));
  }
}

TEST_CASE("rail-balance: stripes follow speed and what is under way") {
  std::vector<Stripe> stripes;
  const std::vector<RailLoad> equal = {load(1), load(1), load(1), load(1)};
  share_out(4 << 20, equal, 64 << 10, 16, stripes);
  REQUIRE(stripes.size() == 4);
  for (const Stripe& stripe : stripes) CHECK(stripe.bytes == 1 << 20);

  const std::vector<RailLoad> quarter = {load(4), load(4), load(4), load(1)};
  share_out(13 << 20, quarter, 64 << 10, 16, stripes);
  REQUIRE(stripes.size() == 4);
  CHECK(stripes[0].bytes == 4 << 20);
  CHECK(stripes[3].bytes == 1 << 20);

  const std::vector<RailLoad> busy = {load(1, 2 << 20), load(1, 0)};
  share_out(3 << 20, busy, 64 << 10, 16, stripes);
  REQUIRE(stripes.size() == 2);
  CHECK(stripes[0].bytes == 1 << 19);
  CHECK(stripes[1].bytes == 5 << 19);

  share_out(100, busy, 64 << 10, 16, stripes);
  REQUIRE(stripes.size() == 1);
  CHECK(stripes[0].link == 1);
}

TEST_CASE("the least stripe follows the speed of the links") {
  const std::vector<RailLoad> two = {load(1), load(1)};
  const auto least = [&](double a, double b) {
    return least_stripe(std::vector<double>{a, b}, two);
  };
  CHECK(least(125e6, 120e6) / 1000 == 16);  // 1 Gbit/s
  CHECK(least(1e6, 2e6) == 8 << 10);        // below it a request costs more
  CHECK(least(125e6, 12.5e9) == 64 << 10);  // the fastest decides
  CHECK(least(125e6, 0) == 16 << 10);       // not known yet
  const std::vector<RailLoad> one = {load(1), load(1, 0, false)};
  CHECK(least_stripe(std::vector<double>{125e6, 0}, one) / 1000 == 16);
  const std::vector<RailLoad> none = {load(1, 0, false)};
  CHECK(least_stripe(std::vector<double>{0}, none) == 16 << 10);
}

TEST_CASE("small messages take the link that is done first, the preferred among equals") {
  const std::vector<int> preference = {2, 0, 1};
  CHECK(least_loaded(std::vector{load(1), load(1), load(1)}, preference) == 2);
  CHECK(least_loaded(std::vector{load(1), load(1), load(1, 100)}, preference) == 0);
  CHECK(least_loaded(std::vector{load(1, 0, false), load(1), load(1, 0, false)}, preference) == 1);
  CHECK(least_loaded(std::vector{load(1, 0, false)}, std::vector<int>{0}) == -1);
}

TEST_CASE("speeds: measured where all are, equal when near, never forgotten") {
  std::vector<RailLoad> loads = {load(9), load(9), load(9)};
  const std::vector<double> none = {0, 0, 0}, nominal = {100, 100, 25};
  settle_speeds(none, none, loads);
  CHECK((loads[0].speed == 1 && loads[2].speed == 1));
  settle_speeds(none, nominal, loads);
  CHECK((loads[0].speed == 100 && loads[2].speed == 25));
  settle_speeds(std::vector<double>{90, 100, 60}, nominal, loads);
  CHECK((loads[0].speed == 90 && loads[2].speed == 60));
  settle_speeds(std::vector<double>{90, 100, 70}, nominal, loads);
  CHECK((loads[0].speed == 1 && loads[2].speed == 1));
  settle_speeds(std::vector<double>{90, 100, 1}, nominal, loads);
  CHECK((loads[0].speed == 90 && loads[2].speed == 5));
  loads[2].usable = false;
  settle_speeds(std::vector<double>{90, 100, 0}, nominal, loads);
  CHECK((loads[0].speed == 1 && loads[1].speed == 1));
}

TEST_CASE("goodput counts busy time only") {
  Goodput goodput;
  double now = 0;
  for (int i = 0; i < 50; ++i) {
    goodput.started(now);
    now += 0.01;
    goodput.through(1 << 20, now);
    goodput.ended();
    now += 10;  // idle
  }
  CHECK(goodput.value() == Approx(100.0 * (1 << 20)));
}

TEST_CASE("a first completion that is held up does not make a link slow") {
  Goodput goodput;
  double now = 0;
  for (int i = 0; i < 50; ++i) {
    goodput.started(now);
    now += 0.03;  // behind the peer's own traffic
    for (int stripe = 0; stripe < 8; ++stripe, now += 0.001) goodput.through(100000, now);
    goodput.ended();
  }
  CHECK(goodput.value() == Approx(1e8));
}

TEST_CASE("a link that was slow and has little to carry is seen to be fast again") {
  Goodput goodput;
  double now = 0;
  const auto carry = [&](int stripes, double seconds_each) {
    for (int i = 0; i < 100; ++i) {
      goodput.started(now);
      for (int stripe = 0; stripe < stripes; ++stripe) goodput.through(100000, now += seconds_each);
      goodput.ended();
    }
  };
  carry(4, 0.01);
  CHECK(goodput.value() == Approx(1e7));
  carry(1, 0.001);
  CHECK(goodput.value() > 7e7);  // samples weigh less than what was known
}
