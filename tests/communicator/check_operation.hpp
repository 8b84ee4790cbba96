// One operation through the public API, checked element by element.
#pragma once

#include <cstddef>
#include <string>

#include "heddle/heddle.hpp"
#include "operands.hpp"

namespace heddle::test {

// Throws what is wrong; Catch's own assertions are not for several threads at once.
void expect(bool condition, const std::string& what);

// One operation of this rank, by the calls that block or by a work. The buffers are as Operands
// says and must come out right. Blocks of different lengths use the v-forms, and displacements
// where there are gaps. Fails like expect().
enum class Calls { blocking, asynchronous };
void check_operation(Communicator& communicator, const Operation& operation, const Placing& placing,
                     Calls calls = Calls::blocking);
inline void check_operation(Communicator& communicator, const Operation& operation, bool in_place) {
  check_operation(communicator, operation, Placing{.in_place = in_place});
}
// Out of place, and in place where there is such a form.
inline void check_both(Communicator& communicator, const Operation& operation) {
  check_operation(communicator, operation, false);
  if (has_in_place(operation.collective)) check_operation(communicator, operation, true);
}

}  // namespace heddle::test
