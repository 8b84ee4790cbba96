// What a communicator keeps for a program, and works, may end after it. This program's own versions
// of four functions of the C API see who comes too late: with a handle that was freed.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "heddle/heddle.hpp"

using heddle::Communicator;
using heddle::Error;
using heddle::Op;
using heddle::PreScaledSum;
using heddle::Registration;
using heddle::UniqueId;

namespace {

std::mutex mutex;
std::set<heddleComm_t> ended;
std::atomic<int> ends{0}, late{0};

template <typename Function>
Function* library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void note_end(heddleComm_t comm) {
  const std::lock_guard lock(mutex);
  ended.insert(comm);
}

// Whether the handle is still good; the library must not see one that is not.
bool note_use(heddleComm_t comm) {
  const std::lock_guard lock(mutex);
  const bool good = ended.count(comm) == 0;
  ++(good ? ends : late);
  return good;
}

// A later communicator may be where an earlier one was.
void forget() {
  const std::lock_guard lock(mutex);
  ended.clear();
  ends = late = 0;
}

// One rank's communicator and what it keeps.
struct Kept {
  explicit Kept(Communicator& communicator)
      : registration(communicator.register_buffer(values)),
        sum(communicator.pre_scaled_sum(2.0F)) {}
  std::vector<float> values = std::vector<float>(1000, 1.0F);
  Registration registration;
  PreScaledSum sum;
};

Communicator world_of_one() { return Communicator::from_unique_id(UniqueId::make(), 1, 0); }

}  // namespace

extern "C" {

heddleResult_t heddleCommDestroy(heddleComm_t comm) {
  note_end(comm);
  return library<decltype(heddleCommDestroy)>("heddleCommDestroy")(comm);
}
heddleResult_t heddleCommAbort(heddleComm_t comm) {
  note_end(comm);
  return library<decltype(heddleCommAbort)>("heddleCommAbort")(comm);
}
heddleResult_t heddleCommDeregister(heddleComm_t comm, void* handle) {
  if (!note_use(comm)) return heddleInvalidArgument;
  return library<decltype(heddleCommDeregister)>("heddleCommDeregister")(comm, handle);
}
heddleResult_t heddleRedOpDestroy(heddleRedOp_t op, heddleComm_t comm) {
  if (!note_use(comm)) return heddleInvalidArgument;
  return library<decltype(heddleRedOpDestroy)>("heddleRedOpDestroy")(op, comm);
}

}  // extern "C"

TEST_CASE("what a communicator keeps is given back while there is a communicator") {
  forget();
  Communicator communicator = world_of_one();
  { const Kept kept(communicator); }
  CHECK(ends == 2);
  std::optional<Kept> kept(communicator);
  Communicator moved = std::move(communicator);
  kept.reset();
  CHECK(ends == 4);
  CHECK(late == 0);
}

TEST_CASE("what a communicator keeps may end after it was destroyed, aborted or replaced") {
  forget();
  std::optional<Communicator> communicator(world_of_one());
  std::optional<Kept> kept(*communicator);
  SECTION("destroyed") { communicator.reset(); }
  SECTION("aborted") { communicator->abort(); }
  SECTION("replaced") { *communicator = world_of_one(); }
  SECTION("aborted by a handler inside") {
    try {
      throw Error(heddleTimeout, "");
    } catch (const Error&) {
      communicator->abort();
    }
  }
  kept.reset();
  CHECK(late == 0);
  CHECK(ends == 0);
}

TEST_CASE("a watchdog aborts while a thread waits that owns what the communicator keeps") {
  forget();
  const UniqueId id = UniqueId::make();
  std::atomic<bool> over{false};
  std::thread idle([&] {  // a rank that never calls
    const auto communicator = Communicator::from_unique_id(id, 2, 1);
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  heddleResult_t result = heddleSuccess;
  {
    Communicator communicator = Communicator::from_unique_id(id, 2, 0);
    std::thread waits([&] {
      try {
        Kept kept(communicator);
        communicator.all_reduce(kept.values, kept.sum);
      } catch (const Error& error) {
        result = error.code();
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    communicator.abort();
    waits.join();
  }
  over = true;
  idle.join();
  CHECK(result == heddleAborted);
  CHECK(late == 0);
}

TEST_CASE("a work outlives its communicator and keeps its result") {
  std::vector<float> values(1000, 1.0F);
  std::optional<Communicator> communicator(world_of_one());
  heddle::Work work = communicator->all_reduce_async(values, Op::sum);
  SECTION("destroyed, which waits for it") {
    communicator.reset();
    CHECK(work.done());
    CHECK_NOTHROW(work.wait());
  }
  SECTION("aborted") {
    communicator->abort();
    communicator.reset();
    try {  // it may have been over before
      work.wait();
      CHECK(work.done());
    } catch (const Error& error) {
      CHECK(error.code() == heddleAborted);
    }
  }
}

TEST_CASE("a wait's time limit is in milliseconds, rounded up, and at most what a long holds") {
  using heddle::detail::milliseconds_of;
  using namespace std::chrono_literals;
  constexpr long kMost = std::numeric_limits<long>::max();
  STATIC_REQUIRE(milliseconds_of(20ms) == 20);
  STATIC_REQUIRE(milliseconds_of(1ns) == 1);
  STATIC_REQUIRE(milliseconds_of(1.5s) == 1500);
  STATIC_REQUIRE(milliseconds_of(0s) == 0);
  STATIC_REQUIRE(milliseconds_of(-1s) == 0);
  STATIC_REQUIRE(milliseconds_of(std::chrono::hours::max()) == kMost);
  STATIC_REQUIRE(milliseconds_of(std::chrono::hours::min()) == 0);
  STATIC_REQUIRE(milliseconds_of(std::chrono::milliseconds::max()) == kMost);
  STATIC_REQUIRE(milliseconds_of(std::chrono::duration<double>(1e300)) == kMost);
  STATIC_REQUIRE(milliseconds_of(std::chrono::nanoseconds::max()) == 9'223'372'036'855);
}
