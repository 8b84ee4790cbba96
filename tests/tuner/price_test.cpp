// Prices against what the textbook says of each algorithm on machines with round numbers.
#include "tuner/price.hpp"

#include "catch.hpp"
#include "priced_machine.hpp"

namespace heddle::tuner {
namespace {

using collectives::Shape;
using test::plain_machine;

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr std::size_t kSlot = 256 * 1024;

double seconds(const char* algorithm, const Shape& shape, const topology::Machine& machine,
               std::size_t block_bytes, int channels = 1, std::size_t chunk = kSlot) {
  const RoundPrice round =
      price_round(*collectives::algorithm_named(algorithm), shape, machine, machine.adapters);
  return price(round, {block_bytes, channels, chunk}, machine);
}

bool close(double a, double b, double within) {
  return a <= b * (1 + within) && b <= a * (1 + within);
}

TEST_CASE("a ring costs 2 (n - 1) latencies for a small message") {
  for (const int ranks : {2, 4, 16, 64})
    CHECK(seconds("ring", {kAllReduce, ranks, 1}, plain_machine(1, ranks), 8) ==
          Approx(2 * (ranks - 1) * 1e-6).epsilon(0.02));
}

TEST_CASE("one-shot costs one latency, star two, whatever the ranks") {
  for (const int ranks : {2, 5, 16}) {
    CHECK(seconds("one-shot", {kAllReduce, ranks, 1}, plain_machine(1, ranks), 8) ==
          Approx(1e-6).epsilon(0.1));
    CHECK(seconds("star", {kAllReduce, ranks, 1}, plain_machine(1, ranks), 8) ==
          Approx(2e-6).epsilon(0.1));
  }
}

TEST_CASE("a ring of a large message goes at the speed of its ports") {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  for (const int ranks : {2, 8, 32}) {
    const double expected = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / 1e9;
    CHECK(seconds("ring", {kAllReduce, ranks, 1}, plain_machine(1, ranks), bytes) ==
          Approx(expected).epsilon(0.1));
  }
}

TEST_CASE("a flat algorithm crowds the adapter of a host, a hierarchical one does not") {
  constexpr std::size_t bytes = std::size_t{1} << 28;
  const topology::Machine machine = plain_machine(2, 8);
  const Shape shape{kAllReduce, 16, 1, 0, 8};
  // Of two-shot each rank sends 8 of its 15 parts, and 8 of 15 results, to the other host.
  const double flat = 2.0 * 8 * 8 / 16 * static_cast<double>(bytes) / 1e8;
  CHECK(seconds("two-shot", shape, machine, bytes) == Approx(flat).epsilon(0.1));
  const double host = 2.0 / 2 * static_cast<double>(bytes) / 1e8;
  CHECK(seconds("hierarchical", shape, machine, bytes) == Approx(host).epsilon(0.25));
}

TEST_CASE("ranks that share cores take their turns") {
  topology::Machine machine = plain_machine(1, 8);
  machine.rank.copy_bandwidth = 1e8;
  const double alone = seconds("ring", {kAllReduce, 8, 1}, machine, 1 << 28);
  machine.cores = 2;
  CHECK(seconds("ring", {kAllReduce, 8, 1}, machine, 1 << 28) == Approx(4 * alone).epsilon(0.1));
}

TEST_CASE("messages above the eager threshold ask first, in every step of the path") {
  topology::Machine machine = plain_machine(4, 1);
  const Shape shape{kAllReduce, 4, 1, 0, 1};
  const double eager = seconds("star", shape, machine, 4096);
  machine.adapters.eager_bytes = 4096;
  machine.adapters.rendezvous_time = 1e-3;
  CHECK(seconds("star", shape, machine, 4096) == eager);
  // To the root, and back.
  CHECK(seconds("star", shape, machine, 4160) == Approx(2 * (1e-3 + 10e-6 + 4160 / 1e8)));
  CHECK(seconds("ring", shape, machine, 4 * 4160) ==
        Approx(6e-3).margin(6 * (10e-6 + 4160 / 1e8) * 1.1));
  // Nothing between hosts asks.
  CHECK(seconds("star", {kAllReduce, 4, 1, 0, 4}, machine, 1 << 20) < 1e-2);
}

TEST_CASE("packed chunks ask as the message that they are") {
  topology::Machine machine = plain_machine(8, 1);
  const Shape shape{base::Collective::all_to_all, 8, 1, 0, 1};
  machine.adapters.rendezvous_time = 1e-3;
  // Bruck's messages have up to four of the eight blocks.
  machine.adapters.eager_bytes = 2 * 1024;
  CHECK(seconds("bruck", shape, machine, 1024) > 3e-3);
  CHECK(seconds("pairwise", shape, machine, 1024) < 1e-3);
}

TEST_CASE("a pipe is no faster than its stream, and channels have one each") {
  constexpr std::size_t bytes = std::size_t{1} << 26;
  topology::Machine machine = plain_machine(2, 1);
  const Shape shape{kAllReduce, 2, 1, 0, 1};
  const auto expected = static_cast<double>(bytes);
  CHECK(seconds("ring", shape, machine, bytes) == Approx(expected / 1e8).epsilon(0.1));
  machine.adapters.stream_bandwidth = 2e7;
  CHECK(seconds("ring", shape, machine, bytes) == Approx(expected / 2e7).epsilon(0.1));
  CHECK(seconds("ring", shape, machine, bytes, 2) == Approx(expected / 4e7).epsilon(0.1));
  CHECK(seconds("ring", shape, machine, bytes, 8) == Approx(expected / 1e8).epsilon(0.1));
  // Faster than all adapters together is no faster than they are.
  machine.adapters.stream_bandwidth = 1e9;
  CHECK(seconds("ring", shape, machine, bytes) == Approx(expected / 1e8).epsilon(0.1));
}

TEST_CASE("every algorithm has a price that grows with the bytes") {
  int priced = 0;
  for (const auto& algorithm : collectives::algorithms())
    for (int c = 0; c < base::kCollectives; ++c) {
      const Shape shape{static_cast<base::Collective>(c), 8, 1, 3, 4};
      if (!collectives::can_do(algorithm, shape)) continue;
      ++priced;
      double last = 0;
      for (std::size_t bytes = 8; bytes <= 1 << 28; bytes *= 8) {
        const double now =
            seconds(std::string(algorithm.name).c_str(), shape, plain_machine(2, 4), bytes);
        INFO(algorithm.name << " " << base::name_of(shape.collective) << " " << bytes);
        CHECK(now > 0);
        CHECK(now >= last * 0.999);
        last = now;
      }
    }
  CHECK(priced > 20);
}

TEST_CASE("a price for many ranks goes on in a straight line from fewer") {
  // 1,500 ranks are walked whole for the tree, and not for the ring.
  const topology::Machine machine = plain_machine(1, 1500);
  const Shape shape{kAllReduce, 1500, 1};
  CHECK(close(seconds("ring", shape, machine, 8), 2 * 1499 * 1e-6, 0.02));
  const double expected = 2.0 * 1499 / 1500 * static_cast<double>(1 << 30) / 1e9;
  CHECK(close(seconds("ring", shape, machine, 1 << 30), expected, 0.1));
}

// Whoever takes an operation's first call waits for it.
TEST_CASE("a walk looks at each end a few times, and not at all ends of many") {
  const auto& one_shot = *collectives::algorithm_named("one-shot");
  // Each rank waits for all the others, one after the other.
  const auto looks = [&](int ranks) {
    const topology::Machine machine = plain_machine(ranks / 8, 8);
    const Shape shape{kAllReduce, ranks, 1, 0, 8};
    return static_cast<double>(price_round(one_shot, shape, machine, machine.adapters).looks);
  };
  constexpr int kWalked = 480;  // 460,800 ends
  CHECK(looks(kWalked) < 10 * (2.0 * kWalked * kWalked));
  CHECK(looks(4096) < 10 * 500'000.0);
}

TEST_CASE("a price of one-shot goes on in a straight line too") {
  topology::Machine machine = plain_machine(1, 1);
  machine.hosts = 4096;
  machine.adapters.message_time = 1e-6;
  machine.adapters.bandwidth = 1e15;
  const Shape shape{kAllReduce, 4096, 1, 0, 1};
  CHECK(close(seconds("one-shot", shape, machine, 8), 4095e-6, 0.05));
}

}  // namespace
}  // namespace heddle::tuner
