#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace heddle::test {
namespace {

constexpr std::size_t kRedZone = 128;  // bytes
constexpr std::size_t kAlign = 64;
constexpr std::byte kRed{0xA5};
constexpr std::byte kUnwritten{0xCD};

}  // namespace

bool has_in_place(base::Collective collective) {
  return collective != base::Collective::all_to_all;
}

Operands::Memory::Memory(std::size_t bytes, std::size_t misaligned)
    : bytes_(bytes + 2 * kRedZone + kAlign + misaligned, kRed) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kRedZone;
  begin_ = kRedZone + (kAlign - address % kAlign) % kAlign + misaligned;
}

void Operands::Memory::allow(std::size_t offset, std::size_t bytes) {
  std::fill_n(data() + offset, bytes, kUnwritten);
  allowed_.emplace_back(begin_ + offset, bytes);
}

bool Operands::Memory::intact() const {
  std::size_t at = 0;
  const auto red_until = [&](std::size_t end) {
    return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(at),
                       bytes_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::byte byte) { return byte == kRed; });
  };
  for (const auto& [offset, bytes] : allowed_) {
    if (!red_until(offset)) return false;
    at = offset + bytes;
  }
  return red_until(bytes_.size());
}

Operands::Layout Operands::layout(std::vector<std::size_t> counts, std::size_t gap) {
  Layout layout;
  for (const std::size_t count : counts) {
    layout.displacements.push_back(layout.elements);
    layout.elements += count + gap;
  }
  layout.counts = std::move(counts);
  return layout;
}

Operands::Operands(std::shared_ptr<const Model> model, int rank, const Placing& placing)
    : model_(std::move(model)),
      rank_(rank),
      element_(base::size_of(model_->operation().type)),
      inputs_(layout(model_->input_counts(rank), placing.gap)),
      outputs_(layout(model_->output_counts(rank), placing.gap)) {
  memory_.reserve(2);
  place(placing);
  const std::byte* from = model_->input(rank).data();
  for (std::size_t block = 0; block < inputs_.counts.size(); ++block) {
    const std::size_t bytes = inputs_.counts[block] * element_;
    if (bytes > 0) std::memcpy(send_ + inputs_.displacements[block] * element_, from, bytes);
    from += bytes;
  }
}

// In place, the side with more blocks has the memory and the other lies in it.
void Operands::place(const Placing& placing) {
  const Operation& operation = model_->operation();
  const auto allocate = [&](const Layout& layout) -> std::byte* {
    if (layout.counts.empty()) return nullptr;
    Memory& memory = memory_.emplace_back(layout.elements * element_, placing.misaligned);
    for (std::size_t block = 0; block < layout.counts.size(); ++block)
      memory.allow(layout.displacements[block] * element_, layout.counts[block] * element_);
    return memory.data();
  };
  const bool input_is_larger = inputs_.counts.size() > outputs_.counts.size();
  for (std::size_t output = 0; placing.in_place && output < outputs_.counts.size(); ++output) {
    const int input =
        base::input_in_place(operation.collective, rank_, operation.root, static_cast<int>(output));
    if (input < 0) continue;
    paired_input_ = input;
    if (input_is_larger) {
      send_ = allocate(inputs_);
      receive_ = send_ + inputs_.displacements[static_cast<std::size_t>(input)] * element_;
    } else {
      receive_ = allocate(outputs_);
      send_ = receive_ + outputs_.displacements[output] * element_;
    }
    return;
  }
  send_ = allocate(inputs_);
  receive_ = allocate(outputs_);
}

std::string Operands::wrong() const {
  std::size_t first = 0;
  for (std::size_t block = 0; block < outputs_.counts.size(); ++block) {
    const std::byte* at = receive_ + outputs_.displacements[block] * element_;
    std::string text = model_->wrong(rank_, first, {at, outputs_.counts[block] * element_});
    if (!text.empty()) return text;
    first += outputs_.counts[block];
  }
  std::string text = wrong_input();
  if (!text.empty()) return text;
  for (const Memory& memory : memory_)
    if (!memory.intact()) return fmt::format("rank {}: wrote outside of its blocks", rank_);
  return "";
}

std::string Operands::wrong_input() const {
  const std::byte* expected = model_->input(rank_).data();
  for (std::size_t block = 0; block < inputs_.counts.size(); ++block) {
    const std::size_t bytes = inputs_.counts[block] * element_;
    const std::byte* at = send_ + inputs_.displacements[block] * element_;
    if (static_cast<int>(block) != paired_input_ && !std::equal(at, at + bytes, expected))
      return fmt::format("rank {}: input block {} was written", rank_, block);
    expected += bytes;
  }
  return "";
}

}  // namespace heddle::test
