#include "communicator/arguments.hpp"

#include <cstdint>

#include "base/error.hpp"

namespace heddle::communicator {
namespace {

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

// NCCL's rule, with both buffers' whole extent: the in-place pair, or no overlap at all.
void check_overlap(const Call& call, std::size_t send_bytes, std::size_t receive_bytes, int rank,
                   int ranks) {
  const auto send = reinterpret_cast<std::uintptr_t>(call.buffers.input);
  const auto receive = reinterpret_cast<std::uintptr_t>(call.buffers.output);
  const std::size_t block =
      call.buffers.count * base::size_of(call.buffers.type) * static_cast<std::size_t>(rank);
  const bool gathers = base::output_blocks(call.collective, ranks) > 1;
  const bool scatters = base::input_blocks(call.collective, ranks) > 1;
  const bool in_place = gathers    ? send == receive + block
                        : scatters ? receive == send + block
                                   : send == receive;
  const bool apart = send + send_bytes <= receive || receive + receive_bytes <= send;
  if (in_place || apart) return;
  fail(
      heddleInvalidArgument,
      "send buffer [{:#x}, +{}) and receive buffer [{:#x}, +{}) overlap: they must be apart, or in "
      "place with {}",
      send, send_bytes, receive, receive_bytes,
      gathers    ? "send == receive + rank * count"
      : scatters ? "receive == send + rank * count"
                 : "send == receive");
}

}  // namespace

Call checked_call(base::Collective collective, const void* send, void* receive, std::size_t count,
                  heddleDataType_t type, heddleRedOp_t op, heddleStream_t stream, int rank,
                  int ranks) {
  if (base::size_of(type) == 0)
    fail(heddleInvalidArgument,
         "data type is {}: allowed is 0 (heddleInt8) to {} (heddleFloat8e5m2)",
         static_cast<int>(type), heddleNumTypes - 1);
  if (static_cast<unsigned>(op) >= heddleNumOps)
    fail(heddleInvalidArgument, "reduction is {}: allowed is 0 (heddleSum) to {} (heddleAvg)",
         static_cast<int>(op), heddleNumOps - 1);
  if (stream != nullptr)
    fail(heddleInvalidArgument, "stream is {}: this build moves host buffers only; pass NULL",
         fmt::ptr(stream));
  const std::size_t send_bytes = checked_bytes(count, type, base::input_blocks(collective, ranks));
  const std::size_t receive_bytes =
      checked_bytes(count, type, base::output_blocks(collective, ranks));
  const Call call{
      collective,
      {static_cast<const std::byte*>(send), static_cast<std::byte*>(receive), count, type, op}};
  if (count == 0) return call;
  if (send == nullptr) fail(heddleInvalidArgument, "send buffer is NULL with count {}", count);
  if (receive == nullptr)
    fail(heddleInvalidArgument, "receive buffer is NULL with count {}", count);
  check_overlap(call, send_bytes, receive_bytes, rank, ranks);
  return call;
}

}  // namespace heddle::communicator
