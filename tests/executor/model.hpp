// What a collective must give, one element at a time, by plain arithmetic on doubles. Inputs are
// small whole numbers, so that every type holds every intermediate result exactly in any order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace heddle::test {

struct Operation {
  base::Collective collective;
  base::DataType type;
  base::RedOp op;
  int ranks;
  std::size_t count;
};

// Element `index` of a rank's whole input.
double input_value(const Operation& operation, int rank, std::size_t index);
// Element `index` of a rank's whole output.
double output_value(const Operation& operation, int rank, std::size_t index);

void encode(base::DataType type, double value, std::byte* at);
double decode(base::DataType type, const std::byte* at);
// Whether `got` is `expected`, up to the one rounding that an average of floats has.
bool agrees(const Operation& operation, double got, double expected);

}  // namespace heddle::test
