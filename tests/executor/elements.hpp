// Single elements of every type, by plain arithmetic that shares nothing with the library.
#pragma once

#include <cstddef>

#include "base/types.hpp"

namespace heddle::test {

bool is_signed(base::DataType type);
bool is_float(base::DataType type);
// Bits of a float's significand, the leading one included.
int significant_bits(base::DataType type);

// Writes a value that the type holds; a float may also be cut off to it, towards zero. No
// infinities, no NaN, no subnormals.
void encode(base::DataType type, double value, std::byte* at);
double decode(base::DataType type, const std::byte* at);

}  // namespace heddle::test
