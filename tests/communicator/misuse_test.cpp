// Operations on which ranks disagree, and groups that cannot be run: every rank that waits ends
// with an error that names both sides, and none hangs.
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "heddle/group.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

// What every rank's `body` ends with, within `seconds`.
std::vector<Ended> ends_within(double seconds, int ranks, const Body& body,
                               const std::string& settings) {
  const auto start = base::Clock::now();
  auto ends = ends_of_ranks(ranks, body, settings);
  CHECK(base::seconds_since(start) < seconds);
  return ends;
}

std::string carrier() { return GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers))); }

// The errors name two ranks; of the first, some say so only by where they come from.
void check_named(const Ended& end, heddleResult_t result, int one, int other) {
  INFO(end.text);
  CHECK(end.result == result);
  CHECK_THAT(end.text, Contains("rank " + std::to_string(one)));
  CHECK_THAT(end.text, Contains("rank " + std::to_string(other)));
}

}  // namespace

TEST_CASE("counts of an all-gather-v that differ between ranks are an error of every rank") {
  const std::string how = carrier();
  const std::size_t seen_by_one = GENERATE(0, 101, 100'000);
  INFO(how << ", rank 1 takes its own block for " << seen_by_one
           << " elements, the others for 100");
  const auto ends = ends_within(
      12, 3,
      [&](Communicator& communicator, int rank) {
        const std::vector<std::size_t> counts = {5, rank == 1 ? seen_by_one : 100, 7};
        std::vector<int> send(100'000), receive(200'000);
        communicator.all_gather_v(send.data(), receive.data(), counts, heddleInt32);
        // Where only a neighbour can tell, the others are told as they wait for the next.
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=5");
  for (const Ended& end : ends) {
    INFO(end.text);
    CHECK(end.result == heddleRemoteError);
    CHECK_THAT(end.text, Contains("rank 1") && (Contains("rank 0") || Contains("rank 2")));
  }
}

TEST_CASE("counts of an all-to-all-v that do not match are an error that names both ranks") {
  const std::string how = carrier();
  const auto ends = ends_within(
      12, 3,
      [&](Communicator& communicator, int rank) {
        // Rank 2 sends rank 0 one element more than that expects.
        std::vector<std::size_t> sends = {10, 10, 10}, receives = {10, 10, 10};
        if (rank == 2) sends[0] = 11;
        std::vector<int> send(40), receive(40);
        communicator.all_to_all_v(send.data(), sends, receive.data(), receives, heddleInt32);
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=5");
  for (const Ended& end : ends) check_named(end, heddleRemoteError, 0, 2);
}

TEST_CASE("counts of a reduce-scatter-v that differ between ranks are an error of every rank") {
  const std::string how = carrier();
  const auto ends = ends_within(
      12, 2,
      [&](Communicator& communicator, int rank) {
        const std::vector<std::size_t> counts = {rank == 0 ? std::size_t{1000} : 1001, 3};
        std::vector<float> send(2000), receive(2000);
        communicator.reduce_scatter_v(send.data(), receive.data(), counts, heddleFloat32, Op::sum);
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=5");
  for (const Ended& end : ends) check_named(end, heddleRemoteError, 0, 1);
}

TEST_CASE("a receive of another size than its send is an error that names both ranks") {
  const std::string how = carrier();
  const auto [sent, received] = GENERATE(table<std::size_t, std::size_t>({{1, 2},
                                                                          {100, 99},
                                                                          {3'000, 4'000},
                                                                          {50'000, 40'000},
                                                                          {1, 100'000},
                                                                          {100'000, 6},
                                                                          {0, 4},
                                                                          {4, 0},
                                                                          {0, 6},
                                                                          {100'000, 0}}));
  INFO(how << ", " << sent << " sent, " << received << " to receive");
  const auto ends = ends_within(
      12, 3,
      [&, sent = sent, received = received](Communicator& communicator, int rank) {
        std::vector<int> values(100'000);
        if (rank == 0) communicator.send(values.data(), sent, heddleInt32, 1);
        if (rank == 1) communicator.receive(values.data(), received, heddleInt32, 0);
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=5");
  for (const Ended& end : ends) check_named(end, heddleRemoteError, 0, 1);
}

TEST_CASE("a send of nothing is never met by the receive of the next") {
  const auto ends = ends_within(
      12, 2,
      [&](Communicator& communicator, int rank) {
        int first = 1, second = 2;
        if (rank == 0) {
          communicator.send(&first, 1, heddleInt32, 1);
          communicator.send(&second, 1, heddleInt32, 1);
        } else {
          communicator.receive(&first, 0, heddleInt32, 0);
          communicator.receive(&second, 1, heddleInt32, 0);
        }
        communicator.barrier();
      },
      carrier() + " HEDDLE_TIMEOUT=5");
  for (const Ended& end : ends) check_named(end, heddleRemoteError, 0, 1);
}

TEST_CASE("counts of a collective that differ between ranks are an error of every rank") {
  const std::string how = carrier();
  const auto [collective, count, of_rank_1] =
      GENERATE(table<int, std::size_t, std::size_t>({{0, 100, 101},
                                                     {1, 3'000, 4'000},
                                                     {0, 40'000, 39'999},
                                                     {2, 40'000, 39'999},
                                                     {0, 1'000'000, 2'000'000}}));
  INFO(how << ", collective " << collective << ", " << count << " and " << of_rank_1);
  const auto ends = ends_within(
      12, 3,
      [&, collective = collective, count = count, of_rank_1 = of_rank_1](Communicator& communicator,
                                                                         int rank) {
        const std::size_t mine = rank == 1 ? of_rank_1 : count;
        std::vector<int> from(3 * mine), to(3 * mine);
        if (collective == 0)
          communicator.all_reduce(from.data(), to.data(), mine, heddleInt32, Op::sum);
        if (collective == 1) communicator.all_gather(from.data(), to.data(), mine, heddleInt32);
        if (collective == 2) communicator.broadcast(from.data(), to.data(), mine, heddleInt32, 0);
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=3");
  for (const Ended& end : ends) {
    INFO(end.text);
    CHECK(end.result != heddleSuccess);
    CHECK_THAT(end.text, Contains("rank 1"));
  }
}

TEST_CASE("a send without a receive is a timeout that names both, on every rank that waits") {
  const std::string how = carrier();
  const auto ends = ends_within(
      12, 3,
      [&](Communicator& communicator, int rank) {
        std::vector<int> values(4'000'000);  // more than the slots take
        if (rank == 0) communicator.send(values, 1);
        communicator.barrier();  // rank 1 never receives
      },
      how + " HEDDLE_TIMEOUT=2");
  for (const Ended& end : ends) check_named(end, heddleTimeout, 0, 1);
}

TEST_CASE("a receive without a send is a timeout that names both") {
  const std::string how = carrier();
  const auto ends = ends_within(
      12, 2,
      [&](Communicator& communicator, int rank) {
        std::vector<int> values(10);
        if (rank == 0) communicator.receive(values, 1);
        communicator.barrier();
      },
      how + " HEDDLE_TIMEOUT=2");
  for (const Ended& end : ends) check_named(end, heddleTimeout, 0, 1);
}

TEST_CASE("ranks that disagree about the root end, naming each other") {
  const std::string how = carrier();
  const auto ends = ends_within(
      12, 2,
      [&](Communicator& communicator, int rank) {
        std::vector<int> values(1000);
        // Each takes the other for the root and waits for it.
        communicator.broadcast(values.data(), values.data(), 1000, heddleInt32, 1 - rank);
      },
      how + " HEDDLE_TIMEOUT=2");
  for (const Ended& end : ends) check_named(end, heddleTimeout, 0, 1);
}

TEST_CASE("a group with a call that failed does nothing and says why") {
  run_ranks(2, [](Communicator& communicator, int rank) {
    std::vector<float> values(10, 1.0F);
    const auto spoil = [&](const auto& call, const std::string& why) {
      expect(heddleGroupStart() == heddleSuccess, "no group");
      expect(heddleAllReduce(values.data(), values.data(), 10, heddleFloat32, heddleSum,
                             communicator.get(), nullptr) == heddleSuccess,
             "a good call failed");
      expect(call() != heddleSuccess, "a bad call succeeded");
      expect(heddleGroupEnd() == heddleInvalidUsage, "a spoilt group was run");
      const std::string text = heddleGetLastError(nullptr);
      expect(text.find("nothing of this group was done") != std::string::npos &&
                 text.find(why) != std::string::npos,
             "the group's end says: " + text);
    };
    spoil(
        [&] {
          return heddleSend(values.data(), 10, heddleFloat32, 2, communicator.get(), nullptr);
        },
        "peer is 2");
    spoil(
        [&] {
          heddleWork_t work = nullptr;
          return heddleAllReduceAsync(values.data(), values.data(), 10, heddleFloat32, heddleSum,
                                      communicator.get(), nullptr, &work);
        },
        "Async");
    spoil([&] { return heddleBarrier(nullptr, nullptr); }, "comm is NULL");
    expect(values == std::vector<float>(10, 1.0F), "something of a spoilt group was done");
    // The next group is a new one, and the communicator is as good as before.
    std::vector<float> received(10, 0.0F);
    group([&] {
      communicator.send(values, 1 - rank);
      communicator.receive(received, 1 - rank);
    });
    expect(received == values, "the exchange after a spoilt group is wrong");
  });
}

}  // namespace heddle::test
