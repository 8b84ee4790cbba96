// Counts what this program allocates with new.
#pragma once

#include <cstddef>

namespace heddle::test {

std::size_t allocations();

}  // namespace heddle::test
