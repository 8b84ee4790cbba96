// Threads as ranks: the same operations with real concurrency, for the thread sanitizer too.
#include <fmt/format.h>

#include "catch.hpp"
#include "run_shapes.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;

TEST_CASE("threads as ranks agree with the model") {
  const bool zero_copy = GENERATE(false, true);
  const bool reluctant = GENERATE(false, true);
  std::uint32_t turn = 0;
  for (const collectives::Algorithm& algorithm : collectives::algorithms())
    for (int c = 0; c < base::kCollectives; ++c)
      for (const int ranks : {2, 3, 4}) {
        const auto collective = static_cast<base::Collective>(c);
        const int channels = 1 + static_cast<int>(turn % 2);
        const int root = base::has_root(collective) ? static_cast<int>(turn) % ranks : 0;
        for (const auto& shape : shapes(algorithm, {collective, ranks, channels, root})) {
          World world(algorithm, shape,
                      {.slots = 4, .zero_copy = zero_copy, .reluctant = reluctant, .seed = turn});
          for (const std::size_t count : {1, 1009, 20011}) {
            const auto type = static_cast<base::DataType>(turn % heddleNumTypes);
            const auto op = static_cast<base::RedOp>(turn % heddleNumOps);
            const bool in_place = turn++ % 2 == 0;
            const std::string wrong = world.run({collective, type, op, ranks, count, root},
                                                {.in_place = in_place}, threaded);
            INFO(fmt::format("{} {} {} {}, {} ranks, {} a host, root {}, count {}", algorithm.name,
                             base::name_of(collective), base::name_of(type), base::name_of(op),
                             ranks, shape.ranks_per_host, root, count));
            REQUIRE(wrong == "");
          }
        }
      }
}
