// The memory that the two ends of a shared-memory pipe share: one header, a line of bookkeeping per
// slot, then the slots themselves.
//
// A message of at most kInlineBytes lies beside its own sequence number: up to 48 bytes arrive with
// the one cache line that announces them. Lines that different cores write are 128 bytes apart,
// because the adjacent-line prefetcher moves lines in pairs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/pipe.hpp"

namespace heddle::transport {

inline constexpr std::uint64_t kRingMagic = 0x31676e6972646568;  // "hedring1"
inline constexpr std::uint32_t kRingVersion = 1;
inline constexpr std::size_t kLinePair = 128;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kInlineBytes = kLinePair - 16;

// Written by the sender alone. Message n (from 0) lies in slot n % slots and is there once
// `sequence` is n + 1.
struct alignas(kLinePair) SlotLine {
  std::atomic<std::uint64_t> sequence;
  std::uint32_t length;  // bytes
  std::uint32_t unused;
  std::byte payload[kInlineBytes];
};

struct RingHeader {
  // Written once by the sender, before the receiver sees the file; then read-mostly.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slots;
  std::uint64_t slot_bytes;
  std::atomic<std::uint32_t> sender_closed;

  // Written by the receiver.
  alignas(kLinePair) std::atomic<std::uint64_t> consumed;  // messages released
  std::atomic<std::uint32_t> receiver_closed;
};

// Another process shares these: an atomic that hid a lock in this process would not be one.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(SlotLine) == kLinePair && offsetof(SlotLine, payload) == 16);
static_assert(sizeof(RingHeader) == 2 * kLinePair);

// Offset of the first slot: header and lines, in whole pages.
constexpr std::size_t slots_offset(const PipeOptions& options) {
  const std::size_t lines =
      sizeof(RingHeader) + static_cast<std::size_t>(options.slots) * sizeof(SlotLine);
  return (lines + kPage - 1) / kPage * kPage;
}

constexpr std::size_t ring_bytes(const PipeOptions& options) {
  return slots_offset(options) + static_cast<std::size_t>(options.slots) * options.slot_bytes;
}

}  // namespace heddle::transport
