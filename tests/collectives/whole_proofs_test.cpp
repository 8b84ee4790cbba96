// What proofs_test.cpp leaves out to stay short: all numbers of channels for all numbers of ranks,
// and the largest schedules.
#include "catch.hpp"
#include "proof_shapes.hpp"
#include "prove.hpp"

namespace heddle::collectives {
namespace {

TEST_CASE("every schedule is right for every number of ranks and channels") {
  for (int ranks = 1; ranks <= 64; ++ranks)
    for (int channels = 1; channels <= 4; ++channels)
      for (const Algorithm& algorithm : algorithms())
        for (const Shape& shape : shapes_of(algorithm, ranks, channels))
          prove(algorithm, shape, schedule_of(algorithm, shape), 3);
}

TEST_CASE("every schedule is right for the largest prime and power of two") {
  for (const int ranks : {509, 512})
    for (const Algorithm& algorithm : algorithms())
      for (const Shape& shape : shapes_of(algorithm, ranks, 1))
        prove(algorithm, shape, schedule_of(algorithm, shape), 2);
}

}  // namespace
}  // namespace heddle::collectives
