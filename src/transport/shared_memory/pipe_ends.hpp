// The two ends of a shared-memory pipe. No verb takes a lock or makes a system call.
#pragma once

#include <cstdint>
#include <memory>

#include "base/deadline.hpp"
#include "transport/pipe.hpp"
#include "transport/shared_memory/ring_file.hpp"
#include "transport/shared_memory/ring_layout.hpp"
#include "transport/shared_memory/streaming_choice.hpp"

namespace heddle::transport {

// "shared-memory pipe from rank 3 to rank 5, channel 0"
std::string pipe_name(const PipeKey& key);

class SharedMemorySendPipe final : public SendPipe {
 public:
  SharedMemorySendPipe(RingMemory memory, const PipeKey& key, const PipeOptions& options);
  ~SharedMemorySendPipe() override;

  std::byte* acquire(std::size_t bytes) override;
  void commit(std::size_t bytes) override;
  // The receiver cannot read the caller's memory: never.
  std::optional<std::uint64_t> send_from(const std::byte*, std::size_t) override { return {}; }
  bool sent(std::uint64_t) override { return true; }
  bool sends_in_place(std::size_t) const override { return false; }
  bool streams(std::size_t bytes) override;
  std::size_t slot_bytes() const override { return slot_bytes_; }

 private:
  bool find_room();

  RingHeader* ring_;
  SlotLine* lines_;
  std::byte* slots_;
  std::size_t slot_bytes_;
  std::size_t acquired_ = 0;  // bytes; 0 when no slot is acquired
  std::uint64_t next_ = 0;    // number of the next message
  std::uint64_t room_until_;  // messages below this number have a free slot
  std::uint32_t slot_ = 0;    // next_ % slot_count_
  std::uint32_t slot_count_;
  StreamingChoice choice_;
  bool is_timed_ = false;  // the acquired slot's writing, which began at:
  base::Clock::time_point writing_since_;
  bool streamed_ = false;
  PipeKey key_;
  int owner_;  // process
  RingMemory memory_;
};

class SharedMemoryReceivePipe final : public ReceivePipe {
 public:
  SharedMemoryReceivePipe(RingMemory memory, const PipeKey& key, const PipeOptions& options);
  ~SharedMemoryReceivePipe() override;

  const std::byte* peek(std::size_t bytes) override;
  void release() override;
  std::size_t slot_bytes() const override { return slot_bytes_; }

 private:
  [[noreturn]] void fail_length(std::size_t sent, std::size_t expected) const;
  void check_sender(const SlotLine& line) const;

  RingHeader* ring_;
  SlotLine* lines_;
  const std::byte* slots_;
  std::size_t slot_bytes_;
  std::uint64_t next_ = 0;  // number of the next message
  std::uint32_t slot_ = 0;  // next_ % slot_count_
  std::uint32_t slot_count_;
  PipeKey key_;
  int owner_;  // process
  RingMemory memory_;
};

}  // namespace heddle::transport
