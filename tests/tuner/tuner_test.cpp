// What is picked, and why: what is asked for, then what was measured, then the price, then the
// table.
#include "tuner/tuner.hpp"

#include <string>

#include "catch.hpp"
#include "machines.hpp"

namespace heddle::tuner {
namespace {

using Catch::Contains;
using test::plain_machine;

constexpr auto kAllReduce = base::Collective::all_reduce;

Request request(int ranks, int hosts, std::size_t bytes) {
  Request asked{};
  asked.selection = {kAllReduce, bytes, ranks, collectives::Reach::fabric};
  asked.selection.ranks_per_host = ranks / hosts;
  asked.block_bytes = bytes;
  asked.hosts = hosts;
  asked.slot_bytes = 256 * 1024;
  return asked;
}

TEST_CASE("without a machine the table decides") {
  Tuner tuner(std::nullopt);
  const Request asked = request(4, 1, 8);
  const auto selection = collectives::choose(asked.selection);
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm == selection.algorithm);
  CHECK(pick.channels == selection.channels);
  CHECK(pick.chunk_bytes == asked.slot_bytes);
  CHECK(pick.why == selection.why);
}

TEST_CASE("with a machine the lowest price decides, and the reason says so") {
  Tuner tuner(plain_machine(2, 8));
  const Pick small = tuner.pick(request(16, 2, 8));
  CHECK_THAT(small.why, Contains("the model of plain says"));
  const Pick large = tuner.pick(request(16, 2, std::size_t{1} << 28));
  const auto prices = tuner.prices(request(16, 2, std::size_t{1} << 28));
  REQUIRE(prices.front().algorithm == large.algorithm);
  // One that sends each byte between the hosts once, not eight times.
  for (const Priced& priced : prices)
    if (priced.algorithm->name == "two-shot") CHECK(priced.seconds > 7 * prices.front().seconds);
  for (std::size_t i = 1; i < prices.size(); ++i) CHECK(prices[i - 1].seconds <= prices[i].seconds);
}

TEST_CASE("what was measured in such a world wins over prices, in no other world") {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, 1024, "ring", 2, 64 * 1024},
                            {"all-reduce", 2, 16, topology::kAnyBytes, "tree", 3, 0}};
  Tuner tuner(machine);
  const Pick small = tuner.pick(request(16, 2, 1024));
  CHECK(small.algorithm->name == "ring");
  CHECK(small.channels == 2);
  CHECK(small.chunk_bytes == 64 * 1024);
  CHECK_THAT(small.why, Contains("measured best on plain"));
  const Pick large = tuner.pick(request(16, 2, 1025));
  CHECK(large.algorithm->name == "tree");
  CHECK(large.channels == 3);
  CHECK(large.chunk_bytes == 256 * 1024);
  CHECK_THAT(tuner.pick(request(8, 2, 1024)).why, Contains("the model of plain says"));
}

TEST_CASE("between hosts a machine without adapters leaves it to the table") {
  topology::Machine machine = plain_machine(1, 8);
  machine.adapters.count = machine.host_network.count = 0;
  Tuner tuner(machine);
  const Request asked = request(16, 2, 1024);
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm == collectives::choose(asked.selection).algorithm);
  CHECK_THAT(pick.why, Contains("plain has nothing between hosts"));
}

TEST_CASE("what is asked for wins over all") {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, topology::kAnyBytes, "tree", 3, 0}};
  Tuner tuner(machine);
  Request asked = request(16, 2, 1024);
  asked.selection.forced_algorithm = "star";
  CHECK(tuner.pick(asked).algorithm->name == "star");
  asked.selection.forced_algorithm = "auto";
  CHECK(tuner.pick(asked).algorithm->name == "tree");
}

TEST_CASE("a measured algorithm that is gone gives way to the price") {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, topology::kAnyBytes, "no-such", 3, 0}};
  Tuner tuner(machine);
  CHECK_THAT(tuner.pick(request(16, 2, 8)).why, Contains("the model of plain says"));
}

TEST_CASE("blocks of different lengths get an algorithm that can move them") {
  Tuner tuner(plain_machine(2, 8));
  Request asked = request(16, 2, 8);
  asked.selection.uneven = true;
  CHECK(tuner.pick(asked).algorithm->uneven);
}

TEST_CASE("a message that packs more chunks than a slot can hold is no candidate") {
  Tuner tuner(plain_machine(1, 128));
  Request asked = request(128, 1, 1 << 20);
  asked.selection.collective = base::Collective::all_gather;
  asked.slot_bytes = 4096;
  for (const Priced& priced : tuner.prices(asked)) {
    INFO(priced.algorithm->name);
    CHECK(static_cast<int>(priced.chunk_bytes) / priced.algorithm->parts(asked.selection.shape()) >=
          64);
  }
}

}  // namespace
}  // namespace heddle::tuner
