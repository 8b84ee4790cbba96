// One operation through the public API, checked element by element.
#pragma once

#include <cstddef>
#include <string>

#include "heddle/heddle.hpp"
#include "model.hpp"

namespace heddle::test {

// Throws what is wrong; Catch's own assertions are not for several threads at once.
void expect(bool condition, const std::string& what);

// One operation of this rank with fresh buffers, `misaligned` bytes off an aligned address, between
// red zones, checked element by element against the plain model. Fails like expect().
void check_operation(Communicator& communicator, const Operation& operation, bool in_place,
                     std::size_t misaligned = 0);

}  // namespace heddle::test
