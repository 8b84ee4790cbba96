// The engine against times worked out by hand, in microseconds.
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "simulator/compact_lanes.hpp"
#include "simulator/engine.hpp"
#include "timed_machine.hpp"

namespace heddle::simulator {
namespace {

using collectives::End;
using collectives::input;
using collectives::Lane;
using collectives::Move;
using collectives::output;
using collectives::peer;

// One message of a thousand bytes is 1 us on plain_machine()'s network.
constexpr std::size_t kThousand = 1000;

// Runs the lanes (by rank) on one channel, with as many pieces as they name, each of `bytes`.
Result run(const topology::Machine& machine, const std::map<int, Lane>& lanes, std::size_t bytes,
           int pieces = 1, Trace* trace = nullptr) {
  Job job{.machine = machine,
          .ranks = machine.ranks(),
          .channels = 1,
          .pieces = pieces,
          .lanes =
              [&](int rank, int) {
                const auto found = lanes.find(rank);
                return found == lanes.end() ? Lane{} : found->second;
              },
          .count = bytes * static_cast<std::size_t>(pieces),
          .element_bytes = 1};
  return simulate(job, trace);
}
double microseconds(const Result& result) { return result.seconds * 1e6; }

// Pieces are cut at 64 bytes, so take sizes that are multiples of it where there are several.
Lane sends(int to, int pieces = 1) {
  Lane lane;
  for (int piece = 0; piece < pieces; ++piece) lane.push_back({piece, {input(0)}, {peer(to)}});
  return lane;
}
Lane receives(int from, int pieces = 1) {
  Lane lane;
  for (int piece = 0; piece < pieces; ++piece) lane.push_back({piece, {peer(from)}, {output(0)}});
  return lane;
}

TEST_CASE("a message takes the latency and its bytes over the bandwidth") {
  auto machine = plain_machine();
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(10 + 1));
  CHECK(microseconds(run(machine, lanes, 50 * kThousand)) == Approx(10 + 50));
  // A message keeps both engines busy for its own time too.
  machine.adapters.message_time = 3e-6;
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(3 + 10 + 3 + 1));
}

TEST_CASE("nothing to move takes no time but the start") {
  auto machine = plain_machine();
  machine.software.start_time = 7e-6;
  const Result result = run(machine, {{0, sends(2)}, {2, receives(0)}}, 0);
  CHECK(microseconds(result) == Approx(7));
  CHECK(result.moves == 0);
}

TEST_CASE("two messages on one adapter halve it") {
  const auto machine = plain_machine();
  // Both ranks of host 0 send, to different hosts: only the sending engine is shared.
  const std::map<int, Lane> out{{0, sends(2)}, {1, sends(4)}, {2, receives(0)}, {4, receives(1)}};
  CHECK(microseconds(run(machine, out, 50 * kThousand)) == Approx(10 + 100));
  // Into one host: only the receiving engine is shared.
  const std::map<int, Lane> in{{2, sends(0)}, {4, sends(1)}, {0, receives(2)}, {1, receives(4)}};
  CHECK(microseconds(run(machine, in, 50 * kThousand)) == Approx(10 + 100));
  // One each way share nothing.
  const std::map<int, Lane> both{{0, sends(2)}, {2, receives(0)}, {3, sends(1)}, {1, receives(3)}};
  CHECK(microseconds(run(machine, both, 50 * kThousand)) == Approx(10 + 50));
}

TEST_CASE("many messages of two flows through one adapter each get half of it") {
  const auto machine = plain_machine();
  constexpr int kPieces = 20;
  constexpr std::size_t kBytes = 64 * 100;
  const std::map<int, Lane> one{{0, sends(2, kPieces)}, {2, receives(0, kPieces)}};
  const std::map<int, Lane> two{{0, sends(2, kPieces)},
                                {1, sends(4, kPieces)},
                                {2, receives(0, kPieces)},
                                {4, receives(1, kPieces)}};
  auto fast = machine;
  fast.software.slots = 32;  // so that no flow waits for slots
  const double alone = microseconds(run(fast, one, kBytes, kPieces)) - 10;
  const double shared = microseconds(run(fast, two, kBytes, kPieces)) - 10;
  CHECK(alone == Approx(kPieces * 6.4));
  CHECK(shared == Approx(2 * alone));
}

TEST_CASE("two adapters carry half of a message each, or half of the messages") {
  auto machine = plain_machine();
  machine.adapters.count = 2;
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, lanes, 50 * kThousand)) == Approx(10 + 25));
  machine.software.stripe_bytes = 100 * kThousand;
  CHECK(microseconds(run(machine, lanes, 50 * kThousand)) == Approx(10 + 50));
  // Below the size of stripes the ranks of a host take different adapters.
  const std::map<int, Lane> two{{0, sends(2)}, {1, sends(3)}, {2, receives(0)}, {3, receives(1)}};
  CHECK(microseconds(run(machine, two, 50 * kThousand)) == Approx(10 + 50));
}

TEST_CASE("engines share an adapter's bandwidth evenly") {
  auto machine = plain_machine();
  machine.adapters.send_engines = machine.adapters.receive_engines = 2;
  const std::map<int, Lane> one{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, one, 50 * kThousand)) == Approx(10 + 100));
  const std::map<int, Lane> two{{0, sends(2)}, {1, sends(3)}, {2, receives(0)}, {3, receives(1)}};
  CHECK(microseconds(run(machine, two, 50 * kThousand)) == Approx(10 + 100));
}

TEST_CASE("slots limit how much is under way") {
  auto machine = plain_machine();
  constexpr int kPieces = 4;
  constexpr std::size_t kBytes = 64 * 10;  // 0.64 us
  const std::map<int, Lane> lanes{{0, sends(2, kPieces)}, {2, receives(0, kPieces)}};
  machine.software.slots = 4;
  CHECK(microseconds(run(machine, lanes, kBytes, kPieces)) == Approx(10 + 4 * 0.64));
  // With one slot each message waits for the last to be read and for the news of it.
  machine.software.slots = 1;
  CHECK(microseconds(run(machine, lanes, kBytes, kPieces)) == Approx(4 * 10.64 + 3 * 10));
  machine.software.slots = 2;
  CHECK(microseconds(run(machine, lanes, kBytes, kPieces)) == Approx(10.64 + 10 + 10.64 + 0.64));
}

TEST_CASE("a message above the eager size asks first") {
  auto machine = plain_machine();
  machine.adapters.eager_bytes = kThousand;
  machine.adapters.rendezvous_time = 5e-6;
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(11));
  CHECK(microseconds(run(machine, lanes, kThousand + 1)) == Approx(11.001 + 5));
}

TEST_CASE("a message that is striped asks by its own length, not by its stripes'") {
  auto machine = plain_machine();
  machine.adapters.count = 4;
  machine.adapters.eager_bytes = kThousand;
  machine.adapters.rendezvous_time = 5e-6;
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(10.25));
  CHECK(microseconds(run(machine, lanes, 2 * kThousand)) == Approx(10.5 + 5));
}

TEST_CASE("a protocol has more bytes on the wire and its own times") {
  const auto machine = plain_machine();
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  Job job{
      .machine = machine,
      .ranks = machine.ranks(),
      .lanes = [&](int rank, int) { return lanes.contains(rank) ? lanes.at(rank) : Lane{}; },
      .count = kThousand,
      .element_bytes = 1,
      .protocol = {.name = "LL", .wire_efficiency = 0.5, .move_time = 1e-6, .network_time = 4e-6}};
  CHECK(microseconds(simulate(job)) == Approx(1 + 10 + 2 + 4 + 1));
}

TEST_CASE("one stream does not fill an adapter") {
  auto machine = plain_machine();
  machine.adapters.stream_bandwidth = 0.25e9;
  const std::map<int, Lane> one{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, one, 10 * kThousand)) == Approx(10 + 40));
  const std::map<int, Lane> two{{0, sends(2)}, {1, sends(3)}, {2, receives(0)}, {3, receives(1)}};
  CHECK(microseconds(run(machine, two, 10 * kThousand)) == Approx(10 + 10 + 40));
}

TEST_CASE("a rank copies and reduces at its bandwidths") {
  auto machine = plain_machine();
  machine.rank.copy_bandwidth = 2e9;
  machine.rank.reduce_bandwidth = 1e9;
  // Inside a host. The sender copies 500 ns, the receiver adds 1 us and writes 500 ns.
  const std::map<int, Lane> lanes{{0, sends(1)}, {1, {{0, {peer(0), input(0)}, {output(0)}}}}};
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(0.5 + 1.5));
  machine.rank.move_time = 1e-6;
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(1.5 + 2.5));
  // Messages that leave from the user's memory are not copied.
  machine.software.in_place_bytes = kThousand;
  const std::map<int, Lane> apart{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, apart, kThousand)) == Approx(1 + 10 + 1 + 1.5));
}

TEST_CASE("ranks take turns on fewer cores than they are") {
  auto machine = plain_machine();
  machine.rank.copy_bandwidth = 1e9;
  const Lane copy{{0, {input(0)}, {output(0)}}};
  const std::map<int, Lane> both{{0, copy}, {1, copy}};
  CHECK(microseconds(run(machine, both, kThousand)) == Approx(1));
  machine.cores = 1;
  CHECK(microseconds(run(machine, both, kThousand)) == Approx(2));
  // Each host has its own.
  CHECK(microseconds(run(machine, {{0, copy}, {2, copy}}, kThousand)) == Approx(1));
  machine.cores = 2;
  CHECK(microseconds(run(machine, both, kThousand)) == Approx(1));
}

TEST_CASE("a bus is shared by a host's ranks, ports are not") {
  auto machine = plain_machine();
  machine.ranks_per_host = 4;
  machine.inner = {.bandwidth = 1e9, .latency = 2e-6};
  const std::map<int, Lane> two{{0, sends(1)}, {1, receives(0)}, {2, sends(3)}, {3, receives(2)}};
  CHECK(microseconds(run(machine, two, kThousand)) == Approx(2 + 2));
  machine.inner.kind = topology::InnerLink::Kind::ports;
  CHECK(microseconds(run(machine, two, kThousand)) == Approx(2 + 1));
  // Two into one port.
  const std::map<int, Lane> into{
      {0, sends(2)}, {1, sends(2)}, {2, {{0, {peer(0), peer(1)}, {output(0)}}}}};
  CHECK(microseconds(run(machine, into, kThousand)) == Approx(2 + 2));
}

TEST_CASE("staged messages cross the way to host memory twice in each host") {
  auto machine = plain_machine();
  machine.pci = {.switches = 1, .bandwidth = 0.5e9};
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(10 + 1));
  machine.adapters.staged = true;
  // In 2 us, out at 0.5 GB/s in 2 us as the wire streams, and out of the receiver's memory in 2 us.
  CHECK(microseconds(run(machine, lanes, kThousand)) == Approx(2 + 10 + 2 + 2));
}

TEST_CASE("an oversubscribed tier is shared by all that go up") {
  auto machine = plain_machine();
  machine.hosts = 8;
  machine.tiers = {{.hosts = 2, .oversubscription = 2, .latency = 1e-6}};
  // Hosts 0 and 1 are below one switch, 2 and 3 below the next. Two messages between switches.
  const std::map<int, Lane> two{{0, sends(4)}, {2, sends(6)}, {4, receives(0)}, {6, receives(2)}};
  // 2 GB/s come from below, 1 GB/s goes up: 50 us each, one after another.
  CHECK(microseconds(run(machine, two, 50 * kThousand)) == Approx(11 + 100));
  // Below one switch there is no tier to pass.
  const std::map<int, Lane> near{{0, sends(2)}, {2, receives(0)}};
  CHECK(microseconds(run(machine, near, 50 * kThousand)) == Approx(10 + 50));
}

TEST_CASE("parts of a message travel as one") {
  const auto machine = plain_machine();
  const Lane packs{{0, {input(0)}, {peer(2, true)}}, {0, {input(1)}, {peer(2, false)}}};
  const Lane unpacks{{0, {peer(0, true)}, {output(0)}}, {0, {peer(0, false)}, {output(1)}}};
  const Result result = run(machine, {{0, packs}, {2, unpacks}}, kThousand);
  CHECK(microseconds(result) == Approx(10 + 2));
  CHECK(result.stripes == 1);
  CHECK(result.network_bytes == Approx(2000));
}

TEST_CASE("rounds follow each other without a barrier") {
  auto machine = plain_machine();
  machine.software.slot_bytes = 6400;
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}};
  const Result result = run(machine, lanes, 64000);
  CHECK(result.moves == 20);
  // Each four slots are free again one latency after they were read: 26.4 us from four to four.
  CHECK(microseconds(result) == Approx(2 * 26.4 + 6.4 + 6.4 + 10));
  machine.software.slots = 16;
  CHECK(microseconds(run(machine, lanes, 64000)) == Approx(10 + 64));
}

TEST_CASE("a schedule that cannot go on is named") {
  const auto machine = plain_machine();
  const std::map<int, Lane> lanes{{0, sends(2)}, {2, receives(0)}, {3, receives(1)}};
  try {
    run(machine, lanes, kThousand);
    FAIL("it went on");
  } catch (const base::Error& error) {
    CHECK(std::string(error.what()).find("rank 3 waits for ever on channel 0, round 0, move 0") !=
          std::string::npos);
  }
}

TEST_CASE("a job needs the ranks and the network") {
  auto machine = plain_machine();
  Job job{.machine = machine, .ranks = 9, .lanes = [](int, int) { return Lane{}; }};
  CHECK_THROWS_AS(simulate(job), base::Error);
  job.ranks = 8;
  job.adapters = 2;
  CHECK_THROWS_AS(simulate(job), base::Error);
  job.adapters = 0;  // and plain_machine() has no host network
  CHECK_THROWS_AS(simulate(job), base::Error);
}

TEST_CASE("a trace has every move and both ends of every stripe") {
  const auto machine = plain_machine();
  Trace trace;
  const Result result = run(machine, {{0, sends(2)}, {2, receives(0)}}, kThousand, 1, &trace);
  REQUIRE(trace.moves.size() == result.moves);
  REQUIRE(trace.rails.size() == 2);
  CHECK(trace.rails[0].send);
  CHECK(trace.rails[0].host == 0);
  CHECK(trace.rails[0].end - trace.rails[0].begin == from_seconds(1e-6));
  CHECK_FALSE(trace.rails[1].send);
  CHECK(trace.rails[1].host == 1);
}

TEST_CASE("a move may have more peers than 16 bits count") {
  constexpr int kRanks = 70'000;
  const auto lanes = compact(
      [](int rank, int) {
        Lane lane{{0, {input(0)}, {output(0)}}};
        if (rank > 0) lane.front().destinations = {peer(0)};
        for (int other = 1; rank == 0 && other < kRanks; ++other)
          lane.front().sources.push_back(peer(other));
        return lane;
      },
      kRanks, 1);
  CHECK(lanes.moves.front().peer_sources == kRanks - 1);
  CHECK(lanes.moves.front().local_sources == 1);
  CHECK(lanes.moves.front().local_destinations == 1);
  CHECK(lanes.moves.back().peer_destinations == 1);
  CHECK(lanes.pipes.size() == kRanks - 1);
}

}  // namespace
}  // namespace heddle::simulator
