// What happens when ranks die, stall, leave or disagree, seen from threads as ranks.
#include <atomic>
#include <chrono>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

std::string all_reduce_error(Communicator& communicator, std::vector<float>& values) {
  try {
    communicator.all_reduce(values, Op::sum);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("timeout-names-culprit: the rank that did not call is named by all") {
  std::vector<std::string> errors(6);
  run_ranks(
      6,
      [&](Communicator& communicator, int rank) {
        std::vector<float> values(1000, 1.0F);
        communicator.all_reduce(values, Op::sum);
        if (rank == 4) std::this_thread::sleep_for(std::chrono::seconds(4));
        errors[static_cast<std::size_t>(rank)] = all_reduce_error(communicator, values);
        expect(!errors[static_cast<std::size_t>(rank)].empty(), "no error");
      },
      "HEDDLE_TIMEOUT=2");
  for (std::size_t rank = 0; rank < 6; ++rank) {
    if (rank == 4) continue;
    INFO("rank " << rank);
    CHECK_THAT(errors[rank], Contains("rank 4 on host"));
    CHECK_THAT(errors[rank], Contains("#2"));
  }
}

TEST_CASE("a rank that leaves early is named") {
  std::string error;
  run_ranks(
      2,
      [&](Communicator& communicator, int rank) {
        std::vector<float> values(10, 1.0F);
        communicator.all_reduce(values, Op::sum);
        if (rank == 0) error = all_reduce_error(communicator, values);
      },
      "HEDDLE_TIMEOUT=30");
  CHECK_THAT(error, Contains("rank 1") && Contains("destroyed"));
}

TEST_CASE("a send or receive with a rank that has left ends soon and names it") {
  const std::string how = GENERATE(from_range(std::begin(kCarriers), std::end(kCarriers)));
  const bool sends = GENERATE(true, false);
  INFO(how << (sends ? ", a send" : ", a receive"));
  std::string error;
  run_ranks(
      3,
      [&](Communicator& communicator, int rank) {
        // What was sent before a rank left arrives.
        std::vector<int> values(1'000'000, rank);
        if (rank == 1) communicator.send(values.data(), 10, heddleInt32, 0);
        if (rank != 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        communicator.receive(values.data(), 10, heddleInt32, 1);
        expect(values[9] == 1, "what came before is wrong");
        try {
          if (sends)
            communicator.send(values, 1);  // more than the slots take
          else
            communicator.receive(values, 1);
        } catch (const Error& thrown) {
          expect(thrown.code() == heddleRemoteError, "another code");
          error = thrown.what();
        }
      },
      how + " HEDDLE_TIMEOUT=50");  // the time limit of this test is 60
  CHECK_THAT(error, Contains("rank 1 on host") && Contains("has left the communicator"));
}

TEST_CASE("abort ends operations of all ranks quickly") {
  const auto start = base::Clock::now();
  std::vector<std::string> errors(3);
  run_ranks(3, [&](Communicator& communicator, int rank) {
    std::vector<float> values(10, 1.0F);
    communicator.all_reduce(values, Op::sum);
    if (rank == 2) {
      // The others may still be in the first operation, which an abort would end too.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      communicator.abort();
      return;
    }
    errors[static_cast<std::size_t>(rank)] = all_reduce_error(communicator, values);
  });
  CHECK(base::seconds_since(start) < 10);
  CHECK_THAT(errors[0], Contains("rank 2") && Contains("abort"));
  CHECK_THAT(errors[1], Contains("rank 2") && Contains("abort"));
}

TEST_CASE("a rank that is told of a failure while it is idle can ask for the sentence") {
  const UniqueId id = UniqueId::make();
  std::thread other([&] { Communicator::from_unique_id(id, 2, 1).abort(); });
  heddleComm_t comm = nullptr;
  const heddleResult_t joined = heddleCommInitRank(&comm, 2, id.get(), 0);
  heddleResult_t state = heddleSuccess;
  std::string text;
  std::vector<std::string> of_threads(4);
  if (joined == heddleSuccess) {
    for (int i = 0; i < 1000 && state == heddleSuccess; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      heddleCommGetAsyncError(comm, &state);
    }
    heddleMemFree(&state);  // this thread's last failure is another
    text = heddleGetLastError(comm);
    std::vector<std::thread> threads;
    for (auto& of_thread : of_threads)
      threads.emplace_back([&of_thread, comm] {
        const char* const mine = heddleGetLastError(comm);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        of_thread = mine;
      });
    for (auto& thread : threads) thread.join();
    heddleCommAbort(comm);
  }
  other.join();
  REQUIRE(joined == heddleSuccess);
  CHECK(state == heddleRemoteError);
  CHECK_THAT(text, Contains("rank 1 on host") && Contains("abort"));
  for (const auto& of_thread : of_threads) CHECK(of_thread == text);
}

TEST_CASE("abort from another thread frees one that waits and one that waits for its turn") {
  const std::string how = GENERATE("HEDDLE_SHM=1", "HEDDLE_SHM=0 HEDDLE_PROVIDER=tcp");
  const UniqueId id = UniqueId::make();
  const std::string settings = how + " HEDDLE_TIMEOUT=30";
  std::atomic<bool> aborted{false};
  std::thread idle([&] {  // a rank that never calls
    auto communicator = Communicator::from_unique_id(id, 2, 1, {settings});
    for (int i = 0; i < 2000 && !aborted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  config.settings = settings.c_str();
  heddleComm_t comm = nullptr;
  const heddleResult_t joined = heddleCommInitRankConfig(&comm, 2, id.get(), 0, &config);
  heddleResult_t results[] = {heddleSuccess, heddleSuccess};
  heddleResult_t abort_result = heddleInternalError;
  double abort_seconds = 0;
  if (joined == heddleSuccess) {
    std::vector<std::thread> waiting;
    for (auto& result : results) {
      waiting.emplace_back([&result, comm] {
        std::vector<float> values(1000, 1.0F);
        result = heddleAllReduce(values.data(), values.data(), values.size(), heddleFloat32,
                                 heddleSum, comm, nullptr);
      });
      // The first is inside its operation before the second comes, and that one before the abort.
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    const auto start = base::Clock::now();
    abort_result = heddleCommAbort(comm);
    abort_seconds = base::seconds_since(start);
    for (auto& thread : waiting) thread.join();
  }
  aborted = true;
  idle.join();
  REQUIRE(joined == heddleSuccess);
  CHECK(abort_result == heddleSuccess);
  CHECK(abort_seconds < 2);
  CHECK(results[0] == heddleAborted);
  CHECK(results[1] == heddleAborted);
}

TEST_CASE("ranks that differ in a setting are told which") {
  const UniqueId id = UniqueId::make();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Communicator::from_unique_id(id, 2, rank,
                                     {rank == 0 ? "HEDDLE_ALGO=ring" : "HEDDLE_ALGO=tree"});
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors)
    CHECK_THAT(error, Contains("HEDDLE_ALGO=ring") && Contains("HEDDLE_ALGO=tree"));
}

TEST_CASE("duplicate ranks, different nranks, too few ranks") {
  const auto join = [](int first_rank, int first_ranks, int second_rank, int second_ranks) {
    const UniqueId id = UniqueId::make();
    std::vector<std::string> errors(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        try {
          Communicator::from_unique_id(id, i == 0 ? first_ranks : second_ranks,
                                       i == 0 ? first_rank : second_rank,
                                       {"HEDDLE_INIT_TIMEOUT=2"});
        } catch (const Error& error) {
          errors[static_cast<std::size_t>(i)] = error.what();
        }
      });
    for (auto& thread : threads) thread.join();
    return errors;
  };
  for (const auto& error : join(0, 3, 0, 3)) CHECK_THAT(error, Contains("rank 0 joins twice"));
  for (const auto& error : join(0, 2, 1, 3))
    CHECK_THAT(error, Contains("nranks 2") && Contains("nranks 3"));
  for (const auto& error : join(0, 3, 2, 3))
    CHECK_THAT(error, Contains("2 of 3 ranks joined") && Contains("missing: 1"));
}

TEST_CASE("a communicator that failed says so again, and a new one works") {
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        if (rank == 1) return communicator.abort();
        // Operation 1 fails, whether the abort comes before or after it is called.
        std::vector<float> values(10, 1.0F);
        expect(!all_reduce_error(communicator, values).empty(), "no error at first");
        expect(all_reduce_error(communicator, values).find("failed before") != std::string::npos,
               "the second call does not say that the first failed");
        heddleResult_t state = heddleSuccess;
        heddleCommGetAsyncError(communicator.get(), &state);
        expect(state == heddleRemoteError, "the state is not a remote error");
      },
      "HEDDLE_TIMEOUT=5");
  run_ranks(2, [](Communicator& communicator, int) {
    check_operation(communicator, {base::Collective::all_reduce, heddleInt32, heddleSum, 2, 100},
                    false);
  });
}

}  // namespace heddle::test
