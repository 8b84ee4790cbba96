// The members of an adapter as machine files have them: read, checked and written by one table.
#pragma once

#include <span>
#include <variant>

#include "topology/machine.hpp"

namespace heddle::topology {

struct AdapterField {
  const char* name;
  std::variant<double AdapterModel::*, int AdapterModel::*, std::size_t AdapterModel::*,
               bool AdapterModel::*>
      member;
  double unit = 1;     // of the file's numbers, in the model's
  int least = 0;       // that a number may be
  bool above = false;  // it must be above that
};

// In the order in which they are written.
std::span<const AdapterField> adapter_fields();

}  // namespace heddle::topology
