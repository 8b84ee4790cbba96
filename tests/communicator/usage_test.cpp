// Works, several communicators at once, read-only inputs, reproducible bits.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/fd.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {

TEST_CASE("asynchronous works finish in order, waited for or not") {
  run_ranks(3, [](Communicator& communicator, int rank) {
    constexpr std::size_t kCount = 5000;
    std::vector<std::vector<std::int32_t>> buffers(20, std::vector<std::int32_t>(kCount));
    std::vector<Work> works;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      for (std::size_t j = 0; j < kCount; ++j)
        buffers[i][j] = static_cast<std::int32_t>(i + j) + rank;
      works.push_back(communicator.all_reduce_async(buffers[i], Op::sum));
    }
    works.back().wait();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      expect(works[i].done(), "a work before a finished one is not finished");
      for (std::size_t j = 0; j < kCount; ++j)
        expect(buffers[i][j] == static_cast<std::int32_t>(3 * (i + j)) + 3, "wrong value");
    }
    // A handle that is dropped does not stop its operation; a blocking call runs after it.
    std::vector<std::int32_t> dropped(10, 1);
    std::vector<std::int32_t> last(10, 2);
    { const Work work = communicator.all_reduce_async(dropped, Op::sum); }
    communicator.all_reduce(last, Op::sum);
    expect(dropped[9] == 3 && last[9] == 6, "wrong value after a dropped work");
  });
}

TEST_CASE("a wait with a time limit says that the work goes on") {
  run_ranks(2, [](Communicator& communicator, int rank) {
    std::vector<float> values(10, 1.0F);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Work work = communicator.all_reduce_async(values, Op::sum);
    if (rank == 0)
      expect(!work.wait(std::chrono::milliseconds(20)), "finished without the other rank");
    expect(work.wait(std::chrono::hours::max()), "the longest wait ended early");
    expect(values[0] == 2.0F, "wrong value");
  });
}

TEST_CASE("works without a waiter progress while the program does other things") {
  run_ranks(2, [](Communicator& communicator, int) {
    std::vector<float> values(100000, 1.0F);
    Work work = communicator.all_reduce_async(values, Op::sum);
    for (int i = 0; i < 1000 && !work.done(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    expect(work.done() && values.back() == 2.0F, "the work did not finish by itself");
  });
}

TEST_CASE("several communicators at once, from several threads, in opposite orders") {
  constexpr int kCommunicators = 4;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kCommunicators; ++i) ids.push_back(UniqueId::make());
  run_ranks(3, [&](Communicator& world, int rank) {
    std::vector<std::thread> threads;
    std::vector<std::string> errors(kCommunicators);
    for (int i = 0; i < kCommunicators; ++i)
      threads.emplace_back([&, i] {
        try {
          auto mine = Communicator::from_unique_id(ids[static_cast<std::size_t>(i)], 3, rank);
          for (int round = 0; round < 20; ++round)
            check_operation(mine,
                            {base::Collective::all_reduce, heddleInt64, heddleSum, 3,
                             static_cast<std::size_t>(1000 * i + round)},
                            round % 2 == 0);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(i)] = error.what();
        }
      });
    check_operation(world, {base::Collective::all_gather, heddleUint8, heddleSum, 3, 4321}, false);
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) expect(error.empty(), error);
  });
}

TEST_CASE("two communicators used by works in opposite orders do not deadlock") {
  const UniqueId other_id = UniqueId::make();
  run_ranks(2, [&](Communicator& first, int rank) {
    auto second = Communicator::from_unique_id(other_id, 2, rank);
    std::vector<float> a(300000, 1.0F);
    std::vector<float> b(300000, 2.0F);
    Communicator& early = rank == 0 ? first : second;
    Communicator& late = rank == 0 ? second : first;
    Work work = early.all_reduce_async(rank == 0 ? a : b, Op::sum);
    late.all_reduce(rank == 0 ? b : a, Op::sum);
    work.wait();
    expect(a.back() == 2.0F && b.back() == 4.0F, "wrong value");
  });
}

namespace {

// Ones that whoever writes to them dies of.
class ReadOnlyOnes {
 public:
  explicit ReadOnlyOnes(std::size_t count)
      : memory_(mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                count * sizeof(float)) {
    expect(memory_.data() != MAP_FAILED, "mmap failed");
    std::fill_n(reinterpret_cast<float*>(memory_.data()), count, 1.0F);
    expect(mprotect(memory_.data(), memory_.size(), PROT_READ) == 0, "mprotect failed");
  }
  const float* data() const { return reinterpret_cast<const float*>(memory_.data()); }

 private:
  base::MappedMemory memory_;
};

}  // namespace

TEST_CASE("read-only-inputs: they are not written") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  constexpr int kRanks = 3;
  constexpr auto kType = heddleFloat32;
  // An eager message, and several rounds.
  const std::size_t count = GENERATE(7, 87'381);
  run_ranks(
      kRanks,
      [&](Communicator& communicator, int rank) {
        const ReadOnlyOnes ones(kRanks * count);
        const float* const input = ones.data();
        const auto check = [&](const char* what, std::size_t elements, float value, auto call) {
          std::vector<float> output(elements, -1.0F);
          call(output.data());
          expect(std::count(output.begin(), output.end(), value) ==
                     static_cast<std::ptrdiff_t>(elements),
                 std::string(what) + " is wrong");
        };
        const auto many = kRanks * count;
        const auto sum = static_cast<float>(kRanks);
        check("all-reduce", many, sum,
              [&](float* output) { communicator.all_reduce(input, output, many, kType, Op::sum); });
        check("all-gather", many, 1,
              [&](float* output) { communicator.all_gather(input, output, count, kType); });
        check("reduce-scatter", count, sum, [&](float* output) {
          communicator.reduce_scatter(input, output, count, kType, Op::sum);
        });
        check("all-to-all", many, 1,
              [&](float* output) { communicator.all_to_all(input, output, count, kType); });
        for (int root = 0; root < kRanks; ++root) {
          const bool at_root = rank == root;
          check("broadcast", many, 1, [&](float* output) {
            communicator.broadcast(at_root ? input : nullptr, output, many, kType, root);
          });
          check("reduce", at_root ? many : 0, sum, [&](float* output) {
            communicator.reduce(input, output, many, kType, Op::sum, root);
          });
          check("gather", at_root ? many : 0, 1,
                [&](float* output) { communicator.gather(input, output, count, kType, root); });
          check("scatter", count, 1, [&](float* output) {
            communicator.scatter(at_root ? input : nullptr, output, count, kType, root);
          });
        }
      },
      how);
}

TEST_CASE("stale-errno: has no effect") {
  const std::string how = GENERATE("HEDDLE_SHM=1", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  for (const int stale : {EAGAIN, ERANGE, EINTR, ENOMEM, EPIPE}) {
    INFO(how << ", errno " << stale);
    errno = stale;
    heddleUniqueId id;
    REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
    std::vector<std::string> errors(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        // Every call with errno as some earlier call left it.
        const auto must = [&](const auto& call) {
          errno = stale;
          if (call() != heddleSuccess)
            errors[static_cast<std::size_t>(rank)] += heddleGetLastError(nullptr);
        };
        heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
        config.settings = how.c_str();
        heddleComm_t comm = nullptr;
        heddleWork_t work = nullptr;
        std::vector<int> in(60000, rank + 1);
        std::vector<int> out(2 * in.size());
        must([&] { return heddleCommInitRankConfig(&comm, 2, id, rank, &config); });
        if (comm == nullptr) return;
        must([&] {
          return heddleAllReduce(in.data(), out.data(), in.size(), heddleInt32, heddleSum, comm,
                                 nullptr);
        });
        const bool summed = out[0] == 3 && out[in.size() - 1] == 3;
        must([&] {
          return heddleAllGather(in.data(), out.data(), in.size(), heddleInt32, comm, nullptr);
        });
        const bool gathered = out[0] == 1 && out[in.size()] == 2 && out.back() == 2;
        must([&] {
          return heddleAllReduceAsync(in.data(), in.data(), in.size(), heddleInt32, heddleSum, comm,
                                      nullptr, &work);
        });
        must([&] { return heddleWorkWait(work, -1); });
        must([&] { return heddleWorkFree(work); });
        must([&] { return heddleCommDestroy(comm); });
        if (!summed || !gathered || in.back() != 3)
          errors[static_cast<std::size_t>(rank)] += "wrong values";
      });
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) CHECK(error == "");
  }
}

TEST_CASE("the same ranks and settings give the same bits") {
  constexpr std::size_t kCount = 50000;
  std::vector<float> first(kCount);
  for (int run = 0; run < 3; ++run)
    run_ranks(4, [&](Communicator& communicator, int rank) {
      std::vector<float> values(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        values[i] = 1.0F / static_cast<float>(i * 7 + static_cast<std::size_t>(rank) * 13 + 1);
      std::vector<float> sum(kCount);
      communicator.all_reduce(values, sum, Op::sum);
      if (rank == 0 && run == 0) first = sum;
      std::vector<float> all(4 * kCount);
      communicator.all_gather(sum, all);
      for (int other = 0; other < 4; ++other)
        expect(std::memcmp(all.data() + static_cast<std::size_t>(other) * kCount, sum.data(),
                           kCount * sizeof(float)) == 0,
               "ranks got different bits");
      if (rank == 0)
        expect(std::memcmp(first.data(), sum.data(), kCount * sizeof(float)) == 0,
               "another run got different bits");
    });
}

}  // namespace heddle::test
