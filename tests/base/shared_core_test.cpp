#include <sched.h>

#include <atomic>
#include <thread>

#include "base/shared_core.hpp"
#include "catch.hpp"

namespace heddle::base {
namespace {

// Keeps this thread, and those that it starts, on one core while it lives.
class OnOneCore {
 public:
  OnOneCore() {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OnOneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE("a switch is remembered for 20 ms, one of long ago is none") {
  static long switches = 0;
  SharedCore core([] { return switches; });
  using std::chrono::milliseconds;
  auto now = Clock::now();
  CHECK_FALSE(core.wanted(now));
  ++switches;
  CHECK_FALSE(core.wanted(now));  // looks once in 50 us
  CHECK(core.wanted(now += milliseconds(1)));
  CHECK(core.wanted(now += milliseconds(19)));
  CHECK_FALSE(core.wanted(now += milliseconds(2)));
  ++switches;
  CHECK_FALSE(core.wanted(now += milliseconds(100)));
  CHECK_FALSE(core.wanted(now += milliseconds(1)));
}

TEST_CASE("a thread that spins finds out that another one wants its core") {
  const OnOneCore here;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
    }
  });
  SharedCore core;
  bool wanted = false;
  const Deadline deadline(Seconds(10));
  while (!wanted && !deadline.passed()) wanted = core.wanted(Clock::now());
  stop = true;
  other.join();
  CHECK(wanted);
}

}  // namespace heddle::base
