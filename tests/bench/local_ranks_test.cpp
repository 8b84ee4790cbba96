#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "catch.hpp"
#include "harness/local_ranks.hpp"
#include "heddle/heddle.hpp"

using namespace heddle::bench;

TEST_CASE("forked ranks meet and exchange records") {
  CHECK(run_local_ranks(4, [](Control& control) {
          for (int round = 0; round < 200; ++round) {
            const std::vector<double> all = control.all_gather(control.rank() * 10.0 + round);
            for (int rank = 0; rank < 4; ++rank)
              if (all[static_cast<std::size_t>(rank)] != rank * 10.0 + round) return 9;
            control.barrier();
          }
          return control.ranks() == 4 ? 0 : 8;
        }) == 0);
}

TEST_CASE("ranks that come late are waited for asleep") {
  CHECK(run_local_ranks(2, [](Control& control) {
          if (control.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
          control.barrier();
          return 0;
        }) == 0);
}

TEST_CASE("a record that is too long is refused") {
  CHECK(run_local_ranks(1, [](Control& control) {
          std::vector<char> record(kRecordBytes + 1);
          try {
            control.all_gather(record.data(), record.data(), record.size());
          } catch (const heddle::Error&) {
            return 0;
          }
          return 1;
        }) == 0);
}

TEST_CASE("a rank's failure is the program's, though others wait for it") {
  CHECK(run_local_ranks(3, [](Control& control) {
          if (control.rank() == 1) return 7;
          control.barrier();
          return 0;
        }) == 7);
}

TEST_CASE("a rank that a signal ends fails the program") {
  CHECK(run_local_ranks(3, [](Control& control) {
          if (control.rank() == 2) raise(SIGKILL);
          control.barrier();
          return 0;
        }) == 1);
}
