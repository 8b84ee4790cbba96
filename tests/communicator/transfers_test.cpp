// Sends and receives, alone and in groups, over shared memory and the fabric.
#include <atomic>
#include <cstdint>
#include <thread>

#include "catch.hpp"
#include "heddle/group.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Words = std::vector<std::uint32_t>;

// The `which`-th message from a rank to another: no two have the same words.
Words message(int from, int to, int which, std::size_t count) {
  Words words(count);
  const auto start = static_cast<std::uint32_t>(((from * 16 + to) * 256 + which) * 7919);
  for (std::size_t i = 0; i < count; ++i)
    words[i] = start + static_cast<std::uint32_t>(i) * 2654435761U;
  return words;
}

void expect_message(const Words& got, int from, int to, int which) {
  expect(got == message(from, to, which, got.size()),
         "message " + std::to_string(which) + " from rank " + std::to_string(from) + " to rank " +
             std::to_string(to) + " of " + std::to_string(got.size()) + " words is wrong");
}

// Lengths from nothing to several slots, different in each direction.
std::size_t mixed_count(int from, int to) {
  constexpr std::size_t kCounts[] = {0, 1, 1009, 40'009};
  return kCounts[(3 * from + to) % 4];
}

void exchange_all(Communicator& communicator, int rank) {
  std::vector<Words> sent, received;
  for (int peer = 0; peer < communicator.size(); ++peer) {
    sent.push_back(message(rank, peer, 0, mixed_count(rank, peer)));
    received.emplace_back(mixed_count(peer, rank));
  }
  group([&] {
    for (int peer = 0; peer < communicator.size(); ++peer) {
      communicator.send(sent[static_cast<std::size_t>(peer)], peer);
      communicator.receive(received[static_cast<std::size_t>(peer)], peer);
    }
  });
  for (int peer = 0; peer < communicator.size(); ++peer)
    expect_message(received[static_cast<std::size_t>(peer)], peer, rank, 0);
}

const std::string kSmallSlots = " HEDDLE_SLOT_BYTES=4K HEDDLE_SLOTS=4";

}  // namespace

TEST_CASE("an all-to-all of sends and receives in a group, mixed sizes") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  run_ranks(
      ranks,
      [](Communicator& communicator, int rank) {
        for (int round = 0; round < 3; ++round) exchange_all(communicator, rank);
      },
      how);
}

TEST_CASE("a ring of sends far larger than the slots does not deadlock in a group") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  run_ranks(
      4,
      [](Communicator& communicator, int rank) {
        constexpr std::size_t kCount = 500'009;  // 500 slots
        const int next = (rank + 1) % 4, previous = (rank + 3) % 4;
        const Words sent = message(rank, next, 1, kCount);
        Words received(kCount);
        group([&] {
          communicator.send(sent, next);
          communicator.receive(received, previous);
        });
        expect_message(received, previous, rank, 1);
      },
      how + kSmallSlots);
}

TEST_CASE("many messages to one rank arrive in order, in groups and out of them") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  constexpr int kMessages = 60;
  const auto count_of = [](int which) { return static_cast<std::size_t>(which % 7) * 411; };
  run_ranks(
      2,
      [&](Communicator& communicator, int rank) {
        std::vector<Words> words;
        for (int which = 0; which < kMessages; ++which)
          words.push_back(rank == 0 ? message(0, 1, which, count_of(which))
                                    : Words(count_of(which)));
        const auto transfer = [&](int which) {
          Words& own = words[static_cast<std::size_t>(which)];
          rank == 0 ? communicator.send(own, 1) : communicator.receive(own, 0);
        };
        const auto together = [&](int first, int last) {
          group([&] {
            for (int which = first; which < last; ++which) transfer(which);
          });
        };
        // The ranks group them differently: only the order counts.
        for (int which = 0; which < 20; ++which) transfer(which);
        if (rank == 0) {
          together(20, kMessages);
        } else {
          together(20, 31);
          for (int which = 31; which < 35; ++which) transfer(which);
          together(35, kMessages);
        }
        for (int which = 0; which < kMessages && rank == 1; ++which)
          expect_message(words[static_cast<std::size_t>(which)], 0, 1, which);
      },
      how + kSmallSlots);
}

TEST_CASE("a rank sends to itself") {
  const int ranks = GENERATE(1, 2);
  run_ranks(ranks, [](Communicator& communicator, int rank) {
    const Words first = message(rank, rank, 0, 70'001), second = message(rank, rank, 1, 3);
    const Words nothing;
    Words first_received(first.size()), second_received(second.size()), none_received;
    group([&] {
      communicator.receive(first_received, rank);
      communicator.send(first, rank);
      communicator.send(nothing, rank);
      communicator.send(second, rank);
      communicator.receive(none_received, rank);
      communicator.receive(second_received, rank);
    });
    expect_message(first_received, rank, rank, 0);
    expect_message(second_received, rank, rank, 1);
  });
}

TEST_CASE("groups nest, and only the outermost end runs them") {
  run_ranks(2, [](Communicator& communicator, int rank) {
    const int other = 1 - rank;
    const Words sent = message(rank, other, 0, 5000);
    Words received(5000);
    group([&] {
      group([&] { communicator.send(sent, other); });
      heddleWork_t work = nullptr;
      expect(heddleGroupStart() == heddleSuccess, "no inner group");
      communicator.receive(received, other);
      expect(heddleGroupEndAsync(&work) == heddleSuccess && work == nullptr,
             "the end of an inner group gave a work");
      expect(received == Words(5000), "something was received before the outermost end");
    });
    expect_message(received, other, rank, 0);
  });
}

TEST_CASE("a group of several communicators") {
  const UniqueId other_id = UniqueId::make();
  run_ranks(2, [&](Communicator& first, int rank) {
    auto second = Communicator::from_unique_id(other_id, 2, rank);
    const int other = 1 - rank;
    const Words sent = message(rank, other, 0, 300'000), sent_too = message(rank, other, 1, 5);
    Words received(300'000), received_too(5), sum(1000, 1), sum_too(1000, 2);
    group([&] {
      first.all_reduce(sum, Op::sum);
      second.send(sent, other);
      first.send(sent_too, other);
      second.all_reduce(sum_too, Op::sum);
      first.receive(received_too, other);
      second.receive(received, other);
    });
    expect_message(received, other, rank, 0);
    expect_message(received_too, other, rank, 1);
    expect(sum == Words(1000, 2) && sum_too == Words(1000, 4), "an all-reduce is wrong");
    // One work cannot stand for two communicators; nothing of it is done.
    try {
      Work work = group_async([&] {
        first.all_reduce(sum, Op::sum);
        second.all_reduce(sum, Op::sum);
      });
      expect(false, "one work for two communicators");
    } catch (const Error& error) {
      expect(error.code() == heddleInvalidUsage &&
                 std::string(error.what()).find("several communicators") != std::string::npos,
             error.what());
    }
    first.all_reduce(sum, Op::sum);
    expect(sum == Words(1000, 4), "an all-reduce of the refused group was done");
  });
}

TEST_CASE("a group with a work") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  run_ranks(
      3,
      [](Communicator& communicator, int rank) {
        const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
        const Words sent = message(rank, next, 0, 100'003);
        Words received(sent.size()), sum(777, 1);
        Work work = group_async([&] {
          communicator.send(sent, next);
          communicator.receive(received, previous);
          communicator.all_reduce(sum, Op::sum);
        });
        work.wait();
        expect_message(received, previous, rank, 0);
        expect(sum == Words(777, 3), "the all-reduce is not over with the work");
        heddleWork_t none = nullptr;
        expect(heddleGroupStart() == heddleSuccess, "no group");
        expect(heddleGroupEndAsync(&none) == heddleSuccess && none == nullptr,
               "an empty group gave a work");
        group([] {});
      },
      how);
}

TEST_CASE("asynchronous sends and receives") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        const int other = 1 - rank;
        std::vector<Words> sent, received;
        std::vector<Work> works;
        for (int which = 0; which < 10; ++which) {
          sent.push_back(message(rank, other, which, 2011));
          received.emplace_back(2011);
        }
        // They run in the order of the calls, and fit the slots: else two sends would wait for each
        // other.
        // They run in the order of the calls, and a send may wait for its receive: so one of the
        // two sends first.
        for (std::size_t which = 0; which < 20; ++which) {
          const bool sends = static_cast<int>(which % 2) == rank;
          works.push_back(sends ? communicator.send_async(sent[which / 2], other)
                                : communicator.receive_async(received[which / 2], other));
        }
        for (Work& work : works) work.wait();
        for (int which = 0; which < 10; ++which)
          expect_message(received[static_cast<std::size_t>(which)], other, rank, which);
      },
      how);
}

TEST_CASE("sends and receives between collectives, by some of the ranks") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  run_ranks(
      4,
      [](Communicator& communicator, int rank) {
        for (int round = 0; round < 8; ++round) {
          Words sum(500, 1), all(4 * 10);
          communicator.all_reduce(sum, Op::sum);
          expect(sum == Words(500, 4), "an all-reduce is wrong");
          // Round by round another pair, and never all of them.
          const int from = round % 4, to = (round + 1 + round / 4) % 4;
          Words words = message(from, to, round, 3001);
          if (rank == from) communicator.send(words, to);
          if (rank == to) {
            std::fill(words.begin(), words.end(), 0);
            communicator.receive(words, from);
            expect_message(words, from, to, round);
          }
          // A group with collectives around, and in the middle of, the exchange.
          const Words own(10, static_cast<std::uint32_t>(rank));
          group([&] {
            communicator.all_gather(own, all);
            if (rank == from) communicator.send(words, to);
            communicator.barrier();
            if (rank == to) communicator.receive(words, from);
          });
          expect(all[9] == 0 && all[39] == 3, "an all-gather is wrong");
          if (rank == to) expect_message(words, from, to, round);
        }
      },
      how);
}

TEST_CASE("a barrier ends when every rank has called it") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const int ranks = GENERATE(1, 2, 3, 5, 8);
  std::atomic<int> called{0};
  run_ranks(
      ranks,
      [&](Communicator& communicator, int rank) {
        for (int round = 0; round < 10; ++round) {
          if (rank == round % ranks) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          ++called;
          if (round % 2 == 0)
            communicator.barrier();
          else
            communicator.barrier_async().wait();
          expect(called >= (round + 1) * ranks, "a barrier ended before all had called it");
        }
      },
      how);
}

}  // namespace heddle::test
