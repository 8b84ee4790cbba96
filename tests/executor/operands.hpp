// One rank's buffers of one operation: blocks as the model says, between red zones.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model.hpp"

namespace heddle::test {

// Whether the collective has an in-place form on some rank.
bool has_in_place(base::Collective collective);

struct Placing {
  bool in_place = false;       // where the rank has a pair of blocks for it
  std::size_t misaligned = 0;  // bytes off an aligned address
  std::size_t gap = 0;         // elements between the blocks
};

class Operands {
 public:
  Operands(std::shared_ptr<const Model> model, int rank, const Placing& placing);

  // Where block 0 would start; null for a rank without such blocks.
  const std::byte* send() const { return send_; }
  std::byte* receive() const { return receive_; }
  // Elements of each block, and from send() or receive() to its first.
  const std::vector<std::size_t>& send_counts() const { return inputs_.counts; }
  const std::vector<std::size_t>& send_displacements() const { return inputs_.displacements; }
  const std::vector<std::size_t>& receive_counts() const { return outputs_.counts; }
  const std::vector<std::size_t>& receive_displacements() const { return outputs_.displacements; }

  // After the operation: what is wrong with the output, with an input that was written, or with
  // memory outside of the blocks; "" for nothing.
  std::string wrong() const;

 private:
  struct Layout {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displacements;
    std::size_t elements = 0;  // from the first of the first block to the last of the last
  };
  // Between red zones.
  class Memory {
   public:
    Memory(std::size_t bytes, std::size_t misaligned);
    std::byte* data() { return bytes_.data() + begin_; }
    // Marks what the rank may hold data in; the rest must stay red.
    void allow(std::size_t offset, std::size_t bytes);
    bool intact() const;

   private:
    std::vector<std::byte> bytes_;
    std::size_t begin_;
    std::vector<std::pair<std::size_t, std::size_t>> allowed_;  // offset in bytes_, bytes; sorted
  };

  static Layout layout(std::vector<std::size_t> counts, std::size_t gap);
  void place(const Placing& placing);
  std::string wrong_input() const;

  std::shared_ptr<const Model> model_;
  int rank_;
  std::size_t element_;
  Layout inputs_;
  Layout outputs_;
  int paired_input_ = -1;  // the block that an output lies on, in place
  std::vector<Memory> memory_;
  std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
};

}  // namespace heddle::test
