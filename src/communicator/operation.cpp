#include "communicator/operation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace heddle::communicator {
namespace {

std::string describe_transfers(const std::vector<Transfer>& transfers, std::uint64_t number) {
  if (transfers.size() == 1)
    return fmt::format("{} #{} ({} bytes)", describe(transfers[0]), number,
                       transfers[0].block.count);
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> all;
  for (const Transfer& transfer : transfers) all.push_back(describe(transfer));
  return fmt::format("group of transfers #{} ({})", number, base::listed(all, kNamed));
}

}  // namespace

std::string describe(const Transfer& transfer) {
  const bool sends = transfer.direction == executor::Direction::send;
  return fmt::format("{} rank {}", sends ? "send to" : "receive from", transfer.peer);
}

executor::Buffers buffers_of(const Call& call) {
  executor::Buffers buffers = call.buffers;
  buffers.scale = call.scaled ? call.scale.data() : nullptr;
  buffers.blocks = call.blocks.get();
  return buffers;
}

std::size_t larger_buffer_bytes(const Call& call, int ranks) {
  const auto elements_in = [](const std::vector<executor::Block>& blocks) {
    std::size_t sum = 0;
    for (const executor::Block& block : blocks) sum += block.count;
    return sum;
  };
  if (call.kind == Call::Kind::transfers) {
    std::size_t bytes = 0;
    for (const Transfer& transfer : call.transfers) bytes += transfer.block.count;
    return bytes;
  }
  const std::size_t size = base::size_of(call.buffers.type);
  if (call.blocks != nullptr)
    return size * std::max(elements_in(call.blocks->inputs), elements_in(call.blocks->outputs));
  const int blocks = std::max(base::input_blocks(call.collective, ranks),
                              base::output_blocks(call.collective, ranks));
  return size * call.buffers.count * static_cast<std::size_t>(blocks);
}

std::string Operation::describe() const {
  if (call.kind == Call::Kind::barrier) return fmt::format("barrier #{}", number);
  if (call.kind == Call::Kind::transfers) return describe_transfers(call.transfers, number);
  const auto& buffers = call.buffers;
  const std::string op = base::reduces(call.collective)
                             ? fmt::format(" {}", base::name_of(buffers.op))
                             : std::string();
  const std::string root =
      base::has_root(call.collective) ? fmt::format(", root {}", call.root) : std::string();
  return fmt::format("{} #{} ({}{}, {}{} elements{})", base::name_of(call.collective), number,
                     base::name_of(buffers.type), op, call.blocks ? "up to " : "", buffers.count,
                     root);
}

}  // namespace heddle::communicator
