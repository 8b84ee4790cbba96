// Memory that the program got from heddleMemAlloc.
#pragma once

#include <cstddef>

namespace heddle::communicator {

// Any thread. Fails as device::allocate_host does.
void* allocate_memory(std::size_t bytes);
// Null is allowed. Fails with heddleInvalidArgument for a pointer that allocate_memory did not
// give.
void free_memory(void* pointer);

}  // namespace heddle::communicator
