// What is priced, that it is Heddle's own price, and what follows for the choice.
#include "nccl-tuner/prices.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "catch.hpp"
#include "support/base_errors.hpp"
#include "topology/machine_json.hpp"
#include "tuner/priced_machine.hpp"
#include "tuner/tuner.hpp"

namespace heddle::nccl_tuner {
namespace {

using abi::Function;
using Catch::Contains;
using test::plain_machine;

constexpr std::size_t kMiB = 1 << 20;
constexpr int kMostRanks = 512;  // of the worlds that presets are tried in: enough, and quick

// Heddle's price of an all-reduce, in microseconds, asked for as the library itself asks.
double own_price(tuner::Tuner& tuner, const topology::Machine& machine, const World& world,
                 const char* algorithm, std::size_t bytes) {
  tuner::Request request{};
  request.selection = {base::Collective::all_reduce, bytes, world.nodes * world.ranks_per_node,
                       collectives::Reach::fabric, algorithm};
  request.selection.ranks_per_host = world.ranks_per_node;
  request.selection.slot_bytes = machine.software.slot_bytes;
  request.block_bytes = bytes;
  request.hosts = world.nodes;
  return tuner.prices(request).front().seconds * 1e6;
}

double simple(const Prices& prices, int algorithm, std::size_t bytes) {
  return prices.at(Function::all_reduce, algorithm, bytes);
}

TEST_CASE("a price is what Heddle's tuner says of its own schedule") {
  const topology::Machine machine = plain_machine(2, 8);
  tuner::Tuner tuner(machine);
  for (const int nodes : {2, 3, 16}) {
    const World world{nodes, 8};
    const Prices prices(machine, world);
    for (std::size_t bytes = 8; bytes <= 1024 * kMiB; bytes *= 8) {
      INFO(nodes << " nodes, " << bytes << " bytes");
      CHECK(simple(prices, abi::kTree, bytes) ==
            Approx(own_price(tuner, machine, world, "tree", bytes)));
      CHECK(simple(prices, abi::kRing, bytes) ==
            Approx(own_price(tuner, machine, world, "ring", bytes)));
    }
  }
}

TEST_CASE("between powers of two a price is near Heddle's own") {
  const topology::Machine machine = plain_machine(4, 8);
  tuner::Tuner tuner(machine);
  const World world{4, 8};
  const Prices prices(machine, world);
  for (const std::size_t bytes : {std::size_t{12}, std::size_t{3000}, 3 * kMiB, 700 * kMiB})
    for (const auto& [number, name] : {std::pair{abi::kTree, "tree"}, {abi::kRing, "ring"}}) {
      INFO(name << ", " << bytes << " bytes");
      CHECK(simple(prices, number, bytes) ==
            Approx(own_price(tuner, machine, world, name, bytes)).epsilon(0.1));
    }
}

// Whether both say that a tree is cheaper, at each size; `clear` is how far apart Heddle's prices
// must be for the answer to count, `counted` how many answers did.
void check_agreement(const topology::Machine& machine, double clear, int& counted) {
  tuner::Tuner tuner(machine);
  for (const int nodes : {2, 4, 16, 64}) {
    if (nodes * machine.ranks_per_host > kMostRanks) continue;
    const World world{nodes, machine.ranks_per_host};
    const Prices prices(machine, world);
    for (std::size_t bytes = 8; bytes <= 8192 * kMiB; bytes *= 4) {
      const double tree = own_price(tuner, machine, world, "tree", bytes);
      const double ring = own_price(tuner, machine, world, "ring", bytes);
      if (std::max(tree, ring) <= clear * std::min(tree, ring)) continue;
      ++counted;
      INFO(machine.name << ", " << nodes << " nodes, " << bytes << " bytes: tree " << tree
                        << " us, ring " << ring << " us");
      CHECK((simple(prices, abi::kTree, bytes) < simple(prices, abi::kRing, bytes)) ==
            (tree < ring));
    }
  }
}

TEST_CASE("on the presets' machines the choice is that of Heddle's tuner") {
  for (const topology::Preset& preset : topology::presets()) {
    topology::Machine machine = topology::load_machine(std::string(preset.name));
    // Heddle's executor has neither, and its tuner passes over them.
    machine.software.protocols.clear();
    machine.adapters.direct_time = 0;
    int counted = 0;
    check_agreement(machine, 1, counted);
    CHECK(counted > 40);
  }
}

TEST_CASE("with what NCCL's protocol adds to every move it is still, wherever that is clear") {
  for (const topology::Preset& preset : topology::presets()) {
    int counted = 0;
    check_agreement(topology::load_machine(std::string(preset.name)), 1.6, counted);
    CHECK(counted > 10);
  }
}

TEST_CASE("on the presets short messages go by tree and long ones by ring") {
  for (const topology::Preset& preset : topology::presets()) {
    const topology::Machine machine = topology::load_machine(std::string(preset.name));
    for (const int nodes : {4, 16, 64}) {
      if (nodes * machine.ranks_per_host > kMostRanks) continue;
      INFO(preset.name << ", " << nodes << " nodes");
      const Prices prices(machine, {nodes, machine.ranks_per_host});
      CHECK(simple(prices, abi::kTree, 8) < simple(prices, abi::kRing, 8));
      CHECK(simple(prices, abi::kRing, 16384 * kMiB) < simple(prices, abi::kTree, 16384 * kMiB));
    }
  }
}

TEST_CASE("more bytes never cost less") {
  const Prices prices(topology::load_machine("p4d.24xlarge"), {16, 8});
  for (const int algorithm : {abi::kTree, abi::kRing}) {
    double last = 0;
    for (std::size_t bytes = 1; bytes < std::size_t{1} << 50; bytes += bytes / 3 + 1) {
      const double now = simple(prices, algorithm, bytes);
      INFO((algorithm == abi::kTree ? "tree" : "ring") << ", " << bytes << " bytes");
      CHECK(now >= 0.999 * last);
      last = now;
    }
  }
}

TEST_CASE("Simple is priced with what it adds to a message, and no other protocol") {
  topology::Machine machine = plain_machine(4, 1);
  const Prices plain(machine, {4, 1});
  machine.software.protocols = {{.name = "LL", .move_time = 1},
                                {.name = "Simple", .move_time = 0, .network_time = 100e-6}};
  const Prices slower(machine, {4, 1});
  // Six steps, each one message between nodes.
  CHECK(simple(slower, abi::kRing, 8) - simple(plain, abi::kRing, 8) == Approx(600));
  machine.software.protocols.pop_back();
  const Prices only(machine, {4, 1});  // one way of its own, whatever it is called
  CHECK(simple(only, abi::kRing, 8) > 1e6);
}

TEST_CASE("PAT is priced where NCCL has it: with one rank a node") {
  const topology::Machine machine = plain_machine(8, 1);
  const auto gather = [](const Prices& prices, int algorithm) {
    return prices.at(Function::all_gather, algorithm, 64);
  };
  const Prices one(machine, {8, 1}), two(machine, {4, 2});
  CHECK(gather(one, abi::kPat) > 0);
  CHECK(gather(one, abi::kPat) < gather(one, abi::kRing));
  CHECK(one.at(Function::reduce_scatter, abi::kPat, 64) > 0);
  CHECK(gather(two, abi::kPat) < 0);
  CHECK(gather(two, abi::kRing) < 0);  // no rival, no price
  CHECK_THAT(one.text(), Contains("; all-gather by PAT") && Contains("; reduce-scatter by PAT"));
}

TEST_CASE("a machine without a network has no price between nodes") {
  topology::Machine alone = plain_machine(1, 8);
  alone.adapters.count = alone.host_network.count = 0;
  CHECK_THAT(test::error_of(
                 [&] {
                   Prices(alone, {2, 8});
                 },
                 heddleInvalidArgument),
             Contains("has no network"));
}

TEST_CASE("numbers that nobody knows have no price, and any size has one") {
  const Prices prices(plain_machine(2, 8), {2, 8});
  for (const int strange : {-1, 5, 7, 1000, std::numeric_limits<int>::min()}) {
    CHECK(prices.at(Function{strange}, abi::kRing, 8) < 0);
    CHECK(simple(prices, strange, 8) < 0);
  }
  CHECK(simple(prices, abi::kRing, 0) < 0);
  const double most = simple(prices, abi::kRing, std::numeric_limits<std::size_t>::max());
  CHECK(most > simple(prices, abi::kRing, std::size_t{1} << 60));
  CHECK(most < 1e20);
}

TEST_CASE("worlds of many thousand ranks are priced in a moment") {
  const auto start = std::chrono::steady_clock::now();
  const Prices prices(topology::load_machine("p5.48xlarge"), {16384, 8});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(simple(prices, abi::kTree, 8) < simple(prices, abi::kRing, 8));
}

TEST_CASE("the text says where the choice changes") {
  CHECK_THAT(Prices(topology::load_machine("p5.48xlarge"), {16, 8}).text(),
             Contains("all-reduce by tree, from ") && Contains(" MiB by ring"));
}

}  // namespace
}  // namespace heddle::nccl_tuner
