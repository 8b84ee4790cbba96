// What is picked, and why: what is asked for, then what was measured, then the price, then the
// table.
#include "tuner/tuner.hpp"

#include <algorithm>
#include <string>

#include "catch.hpp"
#include "collectives/rounds.hpp"
#include "priced_machine.hpp"

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
  asked.selection.slot_bytes = 256 * 1024;
  return asked;
}

TEST_CASE("without a machine the table decides") {
  Tuner tuner(std::nullopt);
  const Request asked = request(4, 1, 8);
  const auto selection = collectives::choose(asked.selection);
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm == selection.algorithm);
  CHECK(pick.channels == selection.channels);
  CHECK(pick.message_bytes == asked.selection.slot_bytes);
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
  CHECK(small.message_bytes == 64 * 1024);
  CHECK_THAT(small.why, Contains("measured best on plain"));
  const Pick large = tuner.pick(request(16, 2, 1025));
  CHECK(large.algorithm->name == "tree");
  CHECK(large.channels == 3);
  CHECK(large.message_bytes == 256 * 1024);
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

// A file that measured the tree best at every size of 16 ranks on 2 hosts.
topology::Machine tree_measured() {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, topology::kAnyBytes, "tree", 3, 4096}};
  return machine;
}

TEST_CASE("an algorithm that is asked for has the channels and chunks measured for it") {
  Tuner tuner(tree_measured());
  Request asked = request(16, 2, 1024);
  asked.selection.forced_algorithm = "tree";
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm->name == "tree");
  CHECK(pick.channels == 3);
  CHECK(pick.message_bytes == 4096);
  CHECK(pick.why == "tree was asked for; measured best on plain");
}

TEST_CASE("an algorithm that is asked for and was not best has the cheapest channels and chunks") {
  Tuner tuner(tree_measured());
  Request asked = request(16, 2, 1 << 20);
  const auto all = tuner.prices(asked);
  asked.selection.forced_algorithm = "star";
  const Pick pick = tuner.pick(asked);
  const auto cheapest = std::find_if(all.begin(), all.end(),
                                     [](const Priced& p) { return p.algorithm->name == "star"; });
  REQUIRE(cheapest != all.end());
  CHECK(pick.algorithm->name == "star");
  CHECK(pick.channels == cheapest->channels);
  CHECK(pick.message_bytes == cheapest->message_bytes);
  CHECK_THAT(pick.why, Contains("star was asked for; the model of plain says"));
  asked.selection.forced_algorithm = "auto";
  CHECK(tuner.pick(asked).algorithm->name == "tree");
}

TEST_CASE("channels that are asked for leave algorithm and chunks to the file") {
  Tuner tuner(tree_measured());
  Request asked = request(16, 2, 1024);
  asked.selection.forced_channels = 7;
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm->name == "tree");
  CHECK(pick.channels == 7);
  CHECK(pick.message_bytes == 4096);
  CHECK(pick.why == "measured best on plain; channels 7 as asked for");
}

TEST_CASE("channels that are asked for in a world that was not measured leave the rest to prices") {
  Tuner tuner(plain_machine(2, 8));
  Request asked = request(16, 2, 1 << 20);
  asked.selection.forced_channels = 7;
  for (const Priced& priced : tuner.prices(asked)) CHECK(priced.channels == 7);
  const Pick pick = tuner.pick(asked);
  CHECK(pick.algorithm == tuner.prices(asked).front().algorithm);
  CHECK(pick.channels == 7);
  CHECK_THAT(pick.why,
             Contains("the model of plain says") && Contains("; channels 7 as asked for"));
}

TEST_CASE("an algorithm that cannot do what is called leaves it to the file, and is said to") {
  Tuner tuner(tree_measured());
  Request asked = request(16, 2, 1024);
  asked.selection.forced_algorithm = "pairwise";
  const Pick pick = tuner.pick(asked);
  CHECK(pick.force_refused);
  CHECK(pick.algorithm->name == "tree");
  CHECK(pick.why == "pairwise was asked for but has no all-reduce; measured best on plain");
  asked.selection.forced_algorithm = "no-such";
  CHECK_THROWS_WITH(tuner.pick(asked), Contains("\"no-such\" is not known"));
  asked.selection.forced_algorithm = "";
  asked.selection.forced_channels = -1;
  CHECK_THROWS_WITH(tuner.pick(asked), Contains("channels: -1 is not allowed"));
}

TEST_CASE("a measured algorithm that is not there is refused") {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, topology::kAnyBytes, "no-such", 3, 0}};
  CHECK_THROWS_WITH(Tuner(machine),
                    Contains("software.tuned[0].algorithm: \"no-such\" is not known"));
}

TEST_CASE(
    "a measured algorithm that cannot run on these hosts gives way to the price, as is said") {
  topology::Machine machine = plain_machine(2, 8);
  machine.software.tuned = {{"all-reduce", 2, 16, topology::kAnyBytes, "hierarchical", 3, 0}};
  Tuner tuner(machine);
  Request asked = request(16, 2, 8);
  asked.selection.ranks_per_host = 0;
  CHECK_THAT(tuner.pick(asked).why, Contains("the model of plain says") &&
                                        Contains("hierarchical was measured best, but cannot"));
}

TEST_CASE("a measured algorithm whose chunks have no room in its messages gives way to the price") {
  topology::Machine machine = plain_machine(32, 8);
  machine.software.tuned = {{"all-to-all", 32, 256, topology::kAnyBytes, "bruck", 1, 4096}};
  Tuner tuner(machine);
  Request asked = request(256, 32, 8);
  asked.selection.collective = base::Collective::all_to_all;
  const Pick pick = tuner.pick(asked);
  CHECK(collectives::parts_fit(pick.message_bytes, pick.algorithm->parts(asked.selection.shape())));
  CHECK_THAT(pick.why, Contains("the model of plain says") &&
                           Contains("bruck was measured best, but cannot") &&
                           Contains("messages of 4096 bytes"));
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
  asked.selection.slot_bytes = 4096;
  for (const Priced& priced : tuner.prices(asked)) {
    INFO(priced.algorithm->name);
    CHECK(static_cast<int>(priced.message_bytes) /
              priced.algorithm->parts(asked.selection.shape()) >=
          64);
  }
}

}  // namespace
}  // namespace heddle::tuner
