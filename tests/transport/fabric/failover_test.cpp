// Rails that get new endpoints at random moments of a stream, at one end or at both: nothing is
// lost, doubled or wrong, and every rail comes back.
#include <atomic>
#include <cstdlib>

#include "message_pair.hpp"

using namespace fabric_test;

namespace {

constexpr PipeOptions kOptions{8, 1 << 20};
constexpr int kRails = 3;

// 20 seeds in a quick run.
int seeds() {
  const char* wanted = std::getenv("HEDDLE_TEST_SEEDS");
  return wanted == nullptr ? 20 : std::atoi(wanted);
}

std::size_t size_of(std::mt19937& random) {
  switch (random() % 4) {
    case 0: return 1 + random() % 8192;
    case 1: return 8193 + random() % 100000;
    default: return 100000 + random() % ((1 << 20) - 100000);
  }
}

base::Settings quick(const std::string& provider) {
  base::Settings with = settings(provider);
  with.rail_timeout = 0.5;
  with.timeout = 20;
  return with;
}

void exchange(Two& two, int me, unsigned seed, int messages, std::atomic<int>& reached) {
  std::mt19937 mine(seed * 2 + static_cast<unsigned>(me)), theirs(seed * 2 + 1 - me);
  for (int i = 0; i < messages; ++i) {
    send(*two.fabric[me], *two.send[me], me, i, size_of(mine));
    expect(*two.fabric[me], *two.receive[me], 1 - me, i, size_of(theirs));
    reached = i;
  }
  flush(*two.fabric[me], *two.send[me]);
}

// Each link that was given up is back, and there were some.
bool all_back(const Two& two) {
  std::uint64_t given_up = 0;
  for (const auto& fabric : two.fabric)
    for (const auto& rail : fabric->rail_metrics()) {
      if (rail.given_up != rail.came_back || rail.links_up != rail.links) return false;
      given_up += rail.given_up;
    }
  return given_up > 0;
}

}  // namespace

TEST_CASE("rails renewed at random moments lose nothing and come back") {
  const int messages = 60;
  for (const std::string provider : {"tcp"}) {
    for (int seed = 0; seed < seeds(); ++seed) {
      INFO(provider << " seed " << seed);
      Two two(open_rails(quick(provider), kRails), open_rails(quick(provider), kRails), kOptions);
      std::atomic<int> reached[2] = {0, 0};
      std::atomic<bool> over{false};
      std::thread saboteur([&] {
        std::mt19937 random(static_cast<unsigned>(seed));
        const int at = static_cast<int>(random() % (messages - 5));
        const int end = static_cast<int>(random() % 2), rail = static_cast<int>(random() % kRails);
        while (!over && reached[end] < at) std::this_thread::yield();
        // The next ones while both ends are still finding each other again.
        for (int times = static_cast<int>(random() % 4); times >= 0; --times) {
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
          two.fabric[times % 2 == 0 ? end : 1 - end]->renew_rail(rail, "the test wants it");
        }
      });
      CHECK_NOTHROW(both([&] { exchange(two, 0, seed, messages, reached[0]); },
                         [&] { exchange(two, 1, seed, messages, reached[1]); }));
      over = true;
      saboteur.join();
      // One that fails again and again is tried after up to 30 s.
      const base::Deadline deadline(base::Seconds(40));
      while (!all_back(two) && !deadline.passed())
        for (const auto& fabric : two.fabric) fabric->progress();
      CHECK(all_back(two));
    }
  }
}

TEST_CASE("rails renewed under messages into user memory repeat none that came") {
  for (int seed = 0; seed < seeds(); ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    std::vector<std::size_t> sizes(60);
    for (std::size_t& size : sizes) size = size_of(random);
    Pair pair(quick("tcp"), kRails);
    std::thread saboteur([&] {
      for (int times = static_cast<int>(random() % 4); times >= 0; --times) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
        const auto& end = random() % 2 == 0 ? pair.left : pair.right;
        end->renew_rail(static_cast<int>(random() % kRails), "the test wants it");
      }
    });
    CHECK_NOTHROW(stream(pair, sizes, 0));
    saboteur.join();
    CHECK_NOTHROW(stream(pair, sizes, 1000));
  }
}
