// What a collective must give, one element at a time, by plain arithmetic on doubles. Inputs are
// small whole numbers, so that every type holds every intermediate result of up to eight ranks
// exactly in any order.
#pragma once

#include <cstddef>
#include <memory>
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
  std::size_t count;    // elements of a block, of the longest where they differ
  int root = 0;         // where base::has_root
  bool uneven = false;  // blocks have different lengths, some of them none
  bool scaled = false;  // a pre-scaled sum; op is heddleSum

  bool operator==(const Operation&) const = default;
};

// Elements of the block that `from` sends to `to` where lengths differ; a rank that is alike for
// all is 0.
std::size_t uneven_count(std::size_t longest, int from, int to);

class Model {
 public:
  explicit Model(const Operation& operation);

  const Operation& operation() const { return operation_; }
  // Elements of each block of a rank's input, or of its output.
  std::vector<std::size_t> input_counts(int rank) const;
  std::vector<std::size_t> output_counts(int rank) const;
  // A rank's whole input, block after block, in the operation's type.
  std::span<const std::byte> input(int rank) const {
    return inputs_[static_cast<std::size_t>(rank)];
  }
  // What a rank must get, alike.
  std::span<const std::byte> output(int rank) const;
  // One element that multiplies the rank's input.
  std::span<const std::byte> scale(int rank) const {
    return scales_[static_cast<std::size_t>(rank)];
  }
  // What is wrong with `data`, if that is to be a part of a rank's output that starts at element
  // `first`; "" for nothing.
  std::string wrong(int rank, std::size_t first, std::span<const std::byte> data) const;

 private:
  std::size_t count_of(int from, int to) const;
  double scale_value(int rank) const;
  double input_value(int rank, int block, std::size_t index) const;
  double output_value(int rank, int block, std::size_t index) const;

  Operation operation_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::vector<std::byte>> scales_;
  // Every rank's output where ranks get different ones, else that of all.
  bool alike_;
  std::vector<std::vector<std::byte>> outputs_;
};

// Made once for all who ask for the same one after the other: a model costs more than the
// operation. Any thread.
std::shared_ptr<const Model> shared_model(const Operation& operation);

}  // namespace heddle::test
