#include "communicator/arguments.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/error.hpp"

namespace heddle::communicator {
namespace {

using base::Collective;
using base::fail;

std::size_t checked_bytes(std::size_t count, heddleDataType_t type, int blocks) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, base::size_of(type), &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<std::size_t>(blocks), &bytes) ||
      bytes > PTRDIFF_MAX)
    fail(heddleInvalidArgument,
         "count is {}: {} blocks of so many {} elements have more bytes than memory can hold",
         count, blocks, base::name_of(type));
  return bytes;
}

void check_op(heddleRedOp_t op) {
  if (static_cast<unsigned>(op) >= heddleNumOps)
    fail(heddleInvalidArgument, "reduction is {}: allowed is 0 (heddleSum) to {} (heddleAvg)",
         static_cast<int>(op), heddleNumOps - 1);
}

void check_stream(heddleStream_t stream) {
  if (stream != nullptr)
    fail(heddleInvalidArgument, "stream is {}: this build moves host buffers only; pass NULL",
         fmt::ptr(stream));
}

void check_rank(const char* what, int rank, int ranks) {
  if (rank < 0 || rank >= ranks)
    fail(heddleInvalidArgument, "{} is {}: allowed is 0 to {}", what, rank, ranks - 1);
}

const char* in_place_rule(Collective collective) {
  switch (collective) {
    case Collective::all_gather: return ", or in place with send == receive + rank * count";
    case Collective::reduce_scatter: return ", or in place with receive == send + rank * count";
    case Collective::gather: return ", or in place with send == receive + root * count";
    case Collective::scatter: return ", or in place with receive == send + root * count";
    case Collective::all_to_all: return "; an all-to-all has no in-place form";
    default: return ", or in place with send == receive";
  }
}

// A buffer by its first byte and its length.
struct Extent {
  std::uintptr_t start;
  std::size_t bytes;
};

bool apart(const Extent& a, const Extent& b) {
  return a.start + a.bytes <= b.start || b.start + b.bytes <= a.start;
}

// NCCL's rule, with both buffers' whole extent: the in-place pair, or no overlap at all.
void check_overlap(const Call& call, const Extent& send, const Extent& receive,
                   const Place& place) {
  const std::size_t block = call.buffers.count * base::size_of(call.buffers.type);
  const int outputs = base::output_blocks(call.collective, place.ranks, place.rank, call.root);
  bool in_place = false;
  for (int output = 0; output < outputs && !in_place; ++output) {
    const int input = base::input_in_place(call.collective, place.rank, call.root, output);
    in_place = input >= 0 && send.start + static_cast<std::size_t>(input) * block ==
                                 receive.start + static_cast<std::size_t>(output) * block;
  }
  if (in_place || apart(send, receive)) return;
  fail(heddleInvalidArgument,
       "send buffer [{:#x}, +{}) and receive buffer [{:#x}, +{}) overlap: they must be apart{}",
       send.start, send.bytes, receive.start, receive.bytes, in_place_rule(call.collective));
}

const std::size_t* checked_counts(const char* what, const std::size_t* counts) {
  if (counts == nullptr) fail(heddleInvalidArgument, "{} counts are NULL", what);
  return counts;
}

// The blocks of a buffer; `largest` grows to the longest.
std::vector<executor::Block> blocks_of(const char* what, const UnevenBlocks& given,
                                       heddleDataType_t type, int ranks, std::size_t& largest) {
  const std::size_t element = base::size_of(type);
  const std::size_t* const counts = checked_counts(what, given.counts);
  auto* const start = static_cast<std::byte*>(const_cast<void*>(given.start));
  std::vector<executor::Block> blocks;
  std::size_t end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t count = counts[rank];
    const std::size_t begin = given.displacements != nullptr ? given.displacements[rank] : end;
    std::size_t last = 0;
    if (__builtin_add_overflow(begin, count, &last) || last > PTRDIFF_MAX / element)
      fail(heddleInvalidArgument,
           "{} block {} has {} elements from element {}: more than memory can hold", what, rank,
           count, begin);
    if (count > 0 && start == nullptr)
      fail(heddleInvalidArgument, "{} buffer is NULL with count {} for rank {}", what, count, rank);
    blocks.push_back({start == nullptr ? nullptr : start + begin * element, count});
    largest = std::max(largest, count);
    end = last;
  }
  return blocks;
}

Extent extent_of(const executor::Block& block, std::size_t element) {
  return {reinterpret_cast<std::uintptr_t>(block.data), block.count * element};
}

// What is written must not lie in what is read or written elsewhere, but for the in-place pair.
void check_blocks(const executor::Blocks& blocks, Collective collective, std::size_t element,
                  const Place& place) {
  std::vector<Extent> written;
  for (std::size_t o = 0; o < blocks.outputs.size(); ++o) {
    const Extent output = extent_of(blocks.outputs[o], element);
    if (output.bytes == 0) continue;
    written.push_back(output);
    const int pair = base::input_in_place(collective, place.rank, 0, static_cast<int>(o));
    for (std::size_t i = 0; i < blocks.inputs.size(); ++i) {
      const Extent input = extent_of(blocks.inputs[i], element);
      const bool in_place = static_cast<int>(i) == pair && input.start == output.start;
      if (input.bytes == 0 || in_place || apart(input, output)) continue;
      fail(heddleInvalidArgument,
           "send block {} [{:#x}, +{}) and receive block {} [{:#x}, +{}) overlap: blocks must be "
           "apart{}",
           i, input.start, input.bytes, o, output.start, output.bytes,
           collective == Collective::all_to_all ? in_place_rule(collective)
                                                : ", but for the in-place pair");
    }
  }
  std::sort(written.begin(), written.end(),
            [](const Extent& a, const Extent& b) { return a.start < b.start; });
  for (std::size_t i = 1; i < written.size(); ++i)
    if (!apart(written[i - 1], written[i]))
      fail(heddleInvalidArgument,
           "receive blocks [{:#x}, +{}) and [{:#x}, +{}) overlap: no element may be received twice",
           written[i - 1].start, written[i - 1].bytes, written[i].start, written[i].bytes);
}

}  // namespace

void check_type(heddleDataType_t type) {
  if (base::size_of(type) == 0)
    fail(heddleInvalidArgument,
         "data type is {}: allowed is 0 (heddleInt8) to {} (heddleFloat8e5m2)",
         static_cast<int>(type), heddleNumTypes - 1);
}

Call checked_call(Collective collective, const Arguments& arguments, const Place& place) {
  const auto& [send, receive, count, type, op, stream, root] = arguments;
  check_type(type);
  check_op(op);
  check_stream(stream);
  if (base::has_root(collective)) check_rank("root", root, place.ranks);
  const int inputs = base::input_blocks(collective, place.ranks, place.rank, root);
  const int outputs = base::output_blocks(collective, place.ranks, place.rank, root);
  // The largest, also on a rank that has none: the plan's sizes are computed from it everywhere.
  checked_bytes(count, type,
                std::max(base::input_blocks(collective, place.ranks),
                         base::output_blocks(collective, place.ranks)));
  const std::size_t send_bytes = checked_bytes(count, type, inputs);
  const std::size_t receive_bytes = checked_bytes(count, type, outputs);
  Call call;
  call.collective = collective;
  call.root = root;
  call.buffers = {static_cast<const std::byte*>(send), static_cast<std::byte*>(receive), count,
                  type, op};
  if (count == 0) return call;
  if (send == nullptr && inputs > 0)
    fail(heddleInvalidArgument, "send buffer is NULL with count {}", count);
  if (receive == nullptr && outputs > 0)
    fail(heddleInvalidArgument, "receive buffer is NULL with count {}", count);
  if (inputs > 0 && outputs > 0)
    check_overlap(call, {reinterpret_cast<std::uintptr_t>(send), send_bytes},
                  {reinterpret_cast<std::uintptr_t>(receive), receive_bytes}, place);
  return call;
}

Call checked_uneven_call(Collective collective, const UnevenArguments& arguments,
                         const Place& place) {
  check_type(arguments.type);
  check_op(arguments.op);
  check_stream(arguments.stream);
  const auto own = static_cast<std::size_t>(place.rank);
  auto blocks = std::make_shared<executor::Blocks>();
  std::size_t largest = 0;
  if (collective == Collective::all_gather) {
    blocks->outputs = blocks_of("receive", arguments.receive, arguments.type, place.ranks, largest);
    const UnevenBlocks one{arguments.send.start, arguments.receive.counts + own, nullptr};
    blocks->inputs = blocks_of("send", one, arguments.type, 1, largest);
  } else if (collective == Collective::reduce_scatter) {
    blocks->inputs = blocks_of("send", arguments.send, arguments.type, place.ranks, largest);
    const UnevenBlocks one{arguments.receive.start, arguments.send.counts + own, nullptr};
    blocks->outputs = blocks_of("receive", one, arguments.type, 1, largest);
  } else {
    blocks->inputs = blocks_of("send", arguments.send, arguments.type, place.ranks, largest);
    blocks->outputs = blocks_of("receive", arguments.receive, arguments.type, place.ranks, largest);
    if (blocks->inputs[own].count != blocks->outputs[own].count)
      fail(heddleInvalidArgument,
           "rank {} sends itself {} elements and receives {} from itself; they must be equal",
           place.rank, blocks->inputs[own].count, blocks->outputs[own].count);
  }
  check_blocks(*blocks, collective, base::size_of(arguments.type), place);
  Call call;
  call.collective = collective;
  call.buffers = {nullptr, nullptr, largest, arguments.type, arguments.op};
  call.blocks = std::move(blocks);
  return call;
}

Call checked_transfer(executor::Direction direction, const void* buffer, std::size_t count,
                      heddleDataType_t type, int peer, heddleStream_t stream, const Place& place) {
  check_type(type);
  check_stream(stream);
  check_rank("peer", peer, place.ranks);
  const std::size_t bytes = checked_bytes(count, type, 1);
  if (count > 0 && buffer == nullptr)
    fail(heddleInvalidArgument, "{} buffer is NULL with count {}",
         direction == executor::Direction::send ? "send" : "receive", count);
  Call call;
  call.kind = Call::Kind::transfers;
  call.buffers.type = heddleUint8;
  call.transfers = {{direction, peer, {static_cast<std::byte*>(const_cast<void*>(buffer)), bytes}}};
  return call;
}

void check_transfers_to_self(const std::vector<Transfer>& transfers, int rank) {
  std::vector<std::size_t> sent, received;
  for (const Transfer& transfer : transfers)
    if (transfer.peer == rank)
      (transfer.direction == executor::Direction::send ? sent : received)
          .push_back(transfer.block.count);
  if (sent.size() != received.size())
    fail(heddleInvalidUsage,
         "rank {} has {} sends to itself and {} receives from itself in one group; each send needs "
         "its receive",
         rank, sent.size(), received.size());
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (sent[i] != received[i])
      fail(heddleInvalidArgument,
           "send {} of rank {} to itself has {} bytes, the receive that meets it {}", i + 1, rank,
           sent[i], received[i]);
}

void check_transfers_apart(std::vector<Transfer> transfers) {
  std::sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) {
    return std::less<>()(a.block.data, b.block.data);
  });
  const Transfer* furthest = nullptr;           // that begins before, by its end
  const Transfer* furthest_received = nullptr;  // the same of receives
  const auto end_of = [](const Transfer* transfer) {
    return transfer == nullptr ? nullptr : transfer->block.data + transfer->block.count;
  };
  const auto text_of = [](const Transfer& transfer) {
    return fmt::format("{} [{}, +{})", describe(transfer), fmt::ptr(transfer.block.data),
                       transfer.block.count);
  };
  for (const Transfer& transfer : transfers) {
    if (transfer.block.count == 0) continue;
    const bool receives = transfer.direction == executor::Direction::receive;
    const Transfer* const before = receives ? furthest : furthest_received;
    if (before != nullptr && std::less<>()(transfer.block.data, end_of(before)))
      fail(heddleInvalidArgument,
           "{} and {} of one group overlap: what is received must lie apart from all else",
           text_of(*before), text_of(transfer));
    for (const Transfer** last : {&furthest, &furthest_received})
      if ((receives || last == &furthest) &&
          (*last == nullptr || end_of(*last) < end_of(&transfer)))
        *last = &transfer;
  }
}

Call barrier_call(heddleStream_t stream) {
  check_stream(stream);
  Call call;
  call.kind = Call::Kind::barrier;
  call.buffers = {nullptr, nullptr, 1, heddleUint8, heddleMax};
  return call;
}

}  // namespace heddle::communicator
