// What a collective must give, one element at a time, by plain arithmetic on doubles. Inputs are
// small whole numbers, so that every type holds every intermediate result exactly in any order.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace heddle::test {

struct Operation {
  base::Collective collective;
  base::DataType type;
  base::RedOp op;
  int ranks;
  std::size_t count;
};

class Model {
 public:
  explicit Model(const Operation& operation);

  // A rank's whole input, in the operation's type.
  std::span<const std::byte> input(int rank) const {
    return inputs_[static_cast<std::size_t>(rank)];
  }
  std::size_t output_bytes() const { return output_bytes_; }
  // What is wrong with a rank's whole output; "" for nothing.
  std::string wrong(int rank, const std::byte* output) const;

 private:
  Operation operation_;
  std::size_t output_bytes_;
  std::vector<std::vector<std::byte>> inputs_;
  // Every rank's output; of a reduce-scatter, all ranks' one after the other.
  std::vector<std::byte> outputs_;
};

}  // namespace heddle::test
