// Case mismatch: HEDDLE_CHECK=1 and ranks that call different operations. Every rank gets an error
// that names the odd one and what differs; no call succeeds, none hangs.
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "heddle/group.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

constexpr int kRanks = 4;
constexpr int kOdd = 2;
constexpr std::size_t kCount = 409'600;

// Memory that is large enough for every call.
struct Buffers {
  std::vector<float> send = std::vector<float>(kRanks * kCount);
  std::vector<float> receive = std::vector<float>(kRanks * kCount);
};
using Calls = std::function<void(Communicator&, Buffers&, bool odd)>;

struct Difference {
  std::string name;
  Calls calls;
  std::string odd;     // what rank 2 is told to call
  std::string others;  // and the others
};

void all_reduce(Communicator& communicator, Buffers& buffers, std::size_t count = kCount,
                heddleDataType_t type = heddleFloat32, Op op = Op::sum) {
  communicator.all_reduce(buffers.send.data(), buffers.receive.data(), count, type, op);
}

void broadcast(Communicator& communicator, Buffers& buffers, int root) {
  communicator.broadcast(buffers.send.data(), buffers.receive.data(), kCount, heddleFloat32, root);
}

void all_gather(Communicator& communicator, Buffers& buffers) {
  communicator.all_gather(buffers.send.data(), buffers.receive.data(), kCount, heddleFloat32);
}

std::vector<std::size_t> counts(bool odd) { return {10, odd ? 8U : 7U, 3, 0}; }

const Difference kDifferences[] = {
    {"count", [](auto& c, auto& b, bool odd) { all_reduce(c, b, odd ? 409'598 : kCount); },
     "calls all-reduce with count 409598", "rank 0, 1 and 3 call it with count 409600"},
    {"type",
     [](auto& c, auto& b, bool odd) {
       all_reduce(c, b, kCount, odd ? heddleInt32 : heddleFloat32);
     },
     "calls all-reduce with type int32", "rank 0, 1 and 3 call it with type float"},
    {"operation",
     [](auto& c, auto& b, bool odd) {
       all_reduce(c, b, kCount, heddleFloat32, odd ? Op::max : Op::sum);
     },
     "calls all-reduce with reduction max", "rank 0, 1 and 3 call it with reduction sum"},
    {"pre-scaled operation",
     [](auto& c, auto& b, bool odd) {
       const float scalar = 1;
       const auto sum = c.pre_scaled_sum(&scalar, heddleFloat32);
       if (odd)
         c.all_reduce(b.send.data(), b.receive.data(), kCount, heddleFloat32, sum);
       else
         all_reduce(c, b);
     },
     "with reduction pre-scaled sum", "rank 0, 1 and 3 call it with reduction sum"},
    {"root", [](auto& c, auto& b, bool odd) { broadcast(c, b, odd ? 1 : 0); },
     "calls broadcast with root 1", "rank 0, 1 and 3 call it with root 0"},
    {"collective", [](auto& c, auto& b, bool odd) { odd ? all_gather(c, b) : all_reduce(c, b); },
     "calls all-gather", "rank 0, 1 and 3 call all-reduce: another collective"},
    {"order",
     [](auto& c, auto& b, bool odd) {
       odd ? broadcast(c, b, 0) : all_reduce(c, b);
       odd ? all_reduce(c, b) : broadcast(c, b, 0);
     },
     "calls broadcast", "rank 0, 1 and 3 call all-reduce: another collective, or another order"},
    {"barrier", [](auto& c, auto& b, bool odd) { odd ? c.barrier() : all_reduce(c, b); },
     "calls barrier", "rank 0, 1 and 3 call all-reduce"},
    {"counts of an all-gather-v",
     [](auto& c, auto& b, bool odd) {
       c.all_gather_v(b.send.data(), b.receive.data(), counts(odd), heddleFloat32);
     },
     "calls all-gather-v with count 8 for rank 1", "call it with count 7 for rank 1"},
    {"counts of a reduce-scatter-v",
     [](auto& c, auto& b, bool odd) {
       c.reduce_scatter_v(b.send.data(), b.receive.data(), counts(odd), heddleFloat32, Op::sum);
     },
     "calls reduce-scatter-v with count 8 for rank 1", "call it with count 7 for rank 1"},
};

// What the ranks end with, after an operation in which they agree.
std::vector<Ended> checked_ends(int ranks, const Body& body, const std::string& settings) {
  const auto after_barrier = [&](Communicator& communicator, int rank) {
    communicator.barrier();
    body(communicator, rank);
  };
  return ends_of_ranks(ranks, after_barrier, settings + " HEDDLE_CHECK=1");
}

std::string carrier() { return GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers))); }

void check_mismatch(const Difference& difference, const Body& body, const std::string& settings) {
  for (const Ended& end : checked_ends(kRanks, body, settings)) {
    INFO(difference.name << " over " << settings << ": " << end.text);
    CHECK(end.result == heddleInvalidUsage);
    CHECK_THAT(end.text, Contains("rank 2 on host") && Contains(difference.odd) &&
                             Contains(difference.others) && Contains("(operation #2)"));
  }
}

}  // namespace

TEST_CASE("mismatch: every rank is told who calls something else, and what") {
  const std::string how = carrier();
  for (const Difference& difference : kDifferences)
    check_mismatch(
        difference,
        [&](Communicator& communicator, int rank) {
          Buffers buffers;
          difference.calls(communicator, buffers, rank == kOdd);
        },
        how);
}

TEST_CASE("mismatch: in groups and works too") {
  for (const Difference& difference : kDifferences) {
    check_mismatch(
        difference,
        [&](Communicator& communicator, int rank) {
          Buffers buffers;
          group([&] {
            difference.calls(communicator, buffers, rank == kOdd);
            communicator.barrier();
          });
        },
        kCarriers[0]);
    check_mismatch(
        difference,
        [&](Communicator& communicator, int rank) {
          Buffers buffers;
          group_async([&] { difference.calls(communicator, buffers, rank == kOdd); }).wait();
        },
        kCarriers[0]);
  }
}

TEST_CASE("mismatch: nothing has been written when it is found") {
  std::vector<Buffers> buffers(kRanks);
  checked_ends(
      kRanks,
      [&](Communicator& communicator, int rank) {
        Buffers& mine = buffers[static_cast<std::size_t>(rank)];
        mine.send.assign(mine.send.size(), 1.0F);
        all_reduce(communicator, mine, rank == kOdd ? kCount - 2 : kCount);
      },
      kCarriers[0]);
  for (const Buffers& mine : buffers)
    CHECK(mine.receive == std::vector<float>(mine.receive.size(), 0.0F));
}

TEST_CASE("mismatch: of two sides of the same size both are named, of three each is") {
  const auto ends_with = [](int ranks, const std::function<std::size_t(int rank)>& count_of) {
    return checked_ends(
        ranks,
        [&](Communicator& communicator, int rank) {
          Buffers buffers;
          all_reduce(communicator, buffers, count_of(rank));
        },
        kCarriers[0]);
  };
  for (const Ended& end : ends_with(2, [](int rank) { return rank == 0 ? 5U : 6U; }))
    CHECK_THAT(end.text, Contains("rank 1 on host") && Contains("rank 0 on host") &&
                             Contains("with count 6 where") && Contains("calls it with count 5"));
  for (const Ended& end : ends_with(4, [](int rank) { return rank < 2 ? 5U : 6U + (rank == 3); }))
    CHECK_THAT(end.text, Contains("calls all-reduce with count 7 where") &&
                             Contains("rank 0 and 1 call it with count 5") &&
                             Contains("rank 2 on host") && Contains("calls it with count 6"));
}

TEST_CASE("a rank that does not call is named, with HEDDLE_CHECK as without") {
  const auto ends = checked_ends(
      3,
      [](Communicator& communicator, int rank) {
        std::vector<float> values(4'000'000);
        if (rank == 1) communicator.send(values, 0);  // more than the slots take
        communicator.barrier();
      },
      "HEDDLE_TIMEOUT=2");
  for (const Ended& end : ends) {
    INFO(end.text);
    CHECK(end.result == heddleTimeout);
    CHECK_THAT(end.text, Contains("rank 1 on host"));
  }
}

TEST_CASE("a difference is told although a rank calls nothing") {
  const auto ends = checked_ends(
      3,
      [](Communicator& communicator, int rank) {
        Buffers buffers;
        if (rank == 2) return communicator.receive(buffers.receive.data(), 1, heddleFloat32, 0);
        all_reduce(communicator, buffers, rank == 0 ? 5 : 6);
      },
      "HEDDLE_TIMEOUT=40");
  for (const Ended& end : ends) {
    INFO(end.text);
    CHECK(end.result == heddleInvalidUsage);
    CHECK_THAT(end.text, Contains("rank 1 on host") && Contains("count 6"));
  }
}

TEST_CASE("with HEDDLE_CHECK what is alike is right, and counts of pairs may differ") {
  const std::string how = carrier();
  run_ranks(
      kRanks,
      [](Communicator& communicator, int rank) {
        for (int c = 0; c < base::kCollectives; ++c)
          for (const std::size_t count : {0, 1, 1009, 100'000})
            check_operation(
                communicator,
                {static_cast<base::Collective>(c), heddleInt32, heddleSum, kRanks, count}, false);
        std::vector<int> values(100, rank);
        if (rank == 0) communicator.send(values, 3);
        if (rank == 3) communicator.receive(values, 0);
        // An all-to-all-v has counts of each pair's own.
        std::vector<std::size_t> sends, receives;
        for (int peer = 0; peer < kRanks; ++peer) {
          sends.push_back(static_cast<std::size_t>(10 * rank + peer));
          receives.push_back(static_cast<std::size_t>(10 * peer + rank));
        }
        std::vector<int> send(500, rank), receive(500);
        communicator.all_to_all_v(send.data(), sends, receive.data(), receives, heddleInt32);
        Work work = communicator.barrier_async();
        work.wait();
      },
      how + " HEDDLE_CHECK=1");
}

TEST_CASE("HEDDLE_CHECK must be the same on every rank") {
  const auto errors = errors_of_ranks(
      3, [](Communicator&, int) {},
      [](int rank) { return rank == 2 ? "HEDDLE_CHECK=1" : "HEDDLE_CHECK=0"; });
  for (const auto& error : errors)
    CHECK_THAT(error, Contains("rank 0") && Contains("HEDDLE_CHECK=0") && Contains("rank 2") &&
                          Contains("HEDDLE_CHECK=1"));
}

}  // namespace heddle::test
