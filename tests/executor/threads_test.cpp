// Threads as ranks: the same operations with real concurrency, for the thread sanitizer too.
#include <fmt/format.h>

#include "catch.hpp"
#include "world.hpp"

using namespace heddle;
using namespace heddle::test;

TEST_CASE("threads as ranks agree with the model") {
  const bool zero_copy = GENERATE(false, true);
  const bool reluctant = GENERATE(false, true);
  std::uint32_t turn = 0;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) {
    for (const auto collective : {base::Collective::all_reduce, base::Collective::all_gather,
                                  base::Collective::reduce_scatter}) {
      for (const int ranks : {2, 3, 4}) {
        const int channels = 1 + static_cast<int>(turn % 2);
        const collectives::Shape shape{collective, ranks, channels, 0, ranks == 4 ? 2 : 0};
        if (!can_do(algorithm, shape)) continue;
        World world(algorithm, shape,
                    {.slots = 4, .zero_copy = zero_copy, .reluctant = reluctant, .seed = turn});
        for (const std::size_t count : {1, 1009, 20011}) {
          const auto type = static_cast<base::DataType>(turn % heddleNumTypes);
          const auto op = static_cast<base::RedOp>(turn % heddleNumOps);
          const bool in_place = turn++ % 2 == 0;
          const std::string wrong =
              world.run({collective, type, op, ranks, count}, in_place, 0, threaded);
          INFO(fmt::format("{} {} {} {}, {} ranks, count {}", algorithm.name,
                           base::name_of(collective), base::name_of(type), base::name_of(op), ranks,
                           count));
          REQUIRE(wrong == "");
        }
      }
    }
  }
}
