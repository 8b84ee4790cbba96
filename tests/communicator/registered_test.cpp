// A buffer given to heddleCommRegister is registered once a rail, however often it is reduced. Over
// the emulated EFA, which refuses memory that was not registered.
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/deadline.hpp"
#include "catch.hpp"
#include "metrics_file.hpp"
#include "ranks.hpp"

namespace heddle::test {
namespace {

constexpr int kRanks = 2;
constexpr std::array kRails = {"rdmap16s27", "rdmap32s27"};

// Of the process, so of both ranks, when both are here. Every rank must call it.
class Registrations {
 public:
  long long now(Communicator& communicator, int rank) {
    communicator.barrier();
    long long sum = 0;
    if (rank == 0) {
      barriers_ += kRanks;
      const base::Deadline deadline(base::Seconds(30));
      while (done("barrier") < barriers_) {  // the file is as old as a second
        expect(!deadline.passed(), "a barrier is not told within 30 s");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      for (const std::string rail : kRails)
        sum += value_of("heddle_rail_registrations_total", "rail=\"" + rail + "\"");
      barriers_ += kRanks;
    }
    communicator.barrier();
    return sum;
  }

 private:
  long long barriers_ = 0;
};

void check_buffer_of(std::size_t bytes) {
  setenv("HEDDLE_EMULATED_EFA", std::to_string(kRails.size()).c_str(), 1);
  setenv("HEDDLE_EMULATED_EFA_IFACE", "lo", 1);
  Registrations registrations;
  long long first = 0, by_message = 0, registered = 0, reduced = 0, forgotten = 0;
  run_ranks(
      kRanks,
      [&](Communicator& communicator, int rank) {
        const auto look = [&](long long& at) {
          const long long now = registrations.now(communicator, rank);
          if (rank == 0) at = now;
        };
        std::vector<float> values(bytes / sizeof(float), 1.0F);
        communicator.all_reduce(values, Op::sum);  // makes the pipes
        look(first);
        communicator.all_reduce(values, Op::sum);
        look(by_message);
        {
          const auto lease = communicator.register_buffer(values);
          look(registered);
          communicator.all_reduce(values, Op::sum);
          communicator.all_reduce(values, Op::sum);
          look(reduced);
        }
        communicator.all_reduce(values, Op::sum);
        look(forgotten);
        expect(values.front() == 32.0F && values.back() == 32.0F, "all-reduce is wrong");
      },
      std::string(kMetricsSetting) + " HEDDLE_SHM=0 HEDDLE_PROVIDER=efa HEDDLE_IFACE=lo");
  CHECK(by_message > first);
  CHECK(registered == by_message + kRanks * static_cast<long long>(kRails.size()));
  CHECK(reduced == registered);
  CHECK(forgotten == reduced + (by_message - first));
  std::remove(metrics_file().c_str());
}

}  // namespace

TEST_CASE("a registered buffer of 16 MiB is registered once") { check_buffer_of(16 << 20); }
TEST_CASE("a registered buffer of 1 GiB is registered once", "[.large]") {
  check_buffer_of(1 << 30);
}

}  // namespace heddle::test
