// A rank that computes for longer than silence is forgiven is still there: heartbeats, keep-alives
// and transfers that hang in the middle must not be taken for its death.
#include <chrono>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "ranks.hpp"

namespace heddle::test {

TEST_CASE("a rank that computes for 6 s is not taken for dead") {
  const std::string provider = GENERATE("tcp", "tcp;ofi_rxm");
  run_ranks(
      2,
      [](Communicator& communicator, int rank) {
        std::vector<float> values(std::size_t{16} << 20);  // 64 MiB
        for (int round = 0; round < 2; ++round) {
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(rank));
          // Before the first operation, and once more between two.
          if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(6));
          communicator.all_reduce(values, Op::sum);
          for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] != static_cast<float>(2 * (i % 1000) + 1))
              expect(false, "wrong at " + std::to_string(i));
        }
      },
      "HEDDLE_SHM=0 HEDDLE_PROVIDER=" + provider);
}

}  // namespace heddle::test
