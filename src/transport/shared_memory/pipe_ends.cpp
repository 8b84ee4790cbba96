#include "transport/shared_memory/pipe_ends.hpp"

#include <unistd.h>

#include <utility>

#include "base/error.hpp"

namespace heddle::transport {
namespace {

RingHeader* header_of(const RingMemory& memory) {
  return reinterpret_cast<RingHeader*>(memory->data());
}

SlotLine* lines_of(const RingMemory& memory) {
  return reinterpret_cast<SlotLine*>(memory->data() + sizeof(RingHeader));
}

}  // namespace

std::string pipe_name(const PipeKey& key) {
  return fmt::format("shared-memory pipe from rank {} to rank {}, channel {}", key.from, key.to,
                     key.channel);
}

SharedMemorySendPipe::SharedMemorySendPipe(RingMemory memory, const PipeKey& key,
                                           const PipeOptions& options)
    : ring_(header_of(memory)),
      lines_(lines_of(memory)),
      slots_(memory->data() + slots_offset(options)),
      slot_bytes_(options.slot_bytes),
      room_until_(static_cast<std::uint64_t>(options.slots)),
      slot_count_(static_cast<std::uint32_t>(options.slots)),
      key_(key),
      owner_(getpid()),
      memory_(std::move(memory)) {}

SharedMemorySendPipe::~SharedMemorySendPipe() {
  // A forked child that exits holds a copy of this object: it must not speak for its parent.
  if (getpid() == owner_) ring_->sender_closed.store(1, std::memory_order_release);
}

std::byte* SharedMemorySendPipe::acquire(std::size_t bytes) {
  HEDDLE_ASSERT(bytes - 1 < slot_bytes_, "{} bytes in a slot of {}", bytes, slot_bytes_);
  if (next_ == room_until_ && !find_room()) return nullptr;
  acquired_ = bytes;
  return bytes <= kInlineBytes ? lines_[slot_].payload : slots_ + slot_ * slot_bytes_;
}

void SharedMemorySendPipe::commit(std::size_t bytes) {
  HEDDLE_ASSERT(bytes == acquired_ && bytes != 0, "committed {} bytes, acquired {}", bytes,
                acquired_);
  acquired_ = 0;
  if (std::exchange(is_timed_, false))
    choice_.took(streamed_, base::seconds_since(writing_since_) * 1e9 / static_cast<double>(bytes));
  SlotLine& line = lines_[slot_];
  line.length = static_cast<std::uint32_t>(bytes);
  line.sequence.store(++next_, std::memory_order_release);
  if (++slot_ == slot_count_) slot_ = 0;
}

bool SharedMemorySendPipe::streams(std::size_t bytes) {
  if (bytes < StreamingChoice::kLeastBytes) return false;
  streamed_ = choice_.next();
  is_timed_ = true;
  writing_since_ = base::Clock::now();
  return streamed_;
}

// The receiver's line is read only here, once in as many messages as there are slots at best.
bool SharedMemorySendPipe::find_room() {
  room_until_ = ring_->consumed.load(std::memory_order_acquire) + slot_count_;
  if (next_ != room_until_) return true;
  if (ring_->receiver_closed.load(std::memory_order_acquire) != 0)
    base::fail(heddleRemoteError, "rank {} closed its end of the {}", key_.to, pipe_name(key_));
  return false;
}

SharedMemoryReceivePipe::SharedMemoryReceivePipe(RingMemory memory, const PipeKey& key,
                                                 const PipeOptions& options)
    : ring_(header_of(memory)),
      lines_(lines_of(memory)),
      slots_(memory->data() + slots_offset(options)),
      slot_bytes_(options.slot_bytes),
      slot_count_(static_cast<std::uint32_t>(options.slots)),
      key_(key),
      owner_(getpid()),
      memory_(std::move(memory)) {}

SharedMemoryReceivePipe::~SharedMemoryReceivePipe() {
  if (getpid() == owner_) ring_->receiver_closed.store(1, std::memory_order_release);
}

const std::byte* SharedMemoryReceivePipe::peek(std::size_t bytes) {
  const SlotLine& line = lines_[slot_];
  if (line.sequence.load(std::memory_order_acquire) != next_ + 1) {
    check_sender(line);
    return nullptr;
  }
  if (line.length != bytes) [[unlikely]]
    fail_length(line.length, bytes);
  return bytes <= kInlineBytes ? line.payload : slots_ + slot_ * slot_bytes_;
}

void SharedMemoryReceivePipe::release() {
  ring_->consumed.store(++next_, std::memory_order_release);
  if (++slot_ == slot_count_) slot_ = 0;
}

// The flag's line is written once in the life of a pipe, so an empty poll finds it in its cache.
void SharedMemoryReceivePipe::check_sender(const SlotLine& line) const {
  if (ring_->sender_closed.load(std::memory_order_acquire) == 0) return;
  // What was committed before the close is still delivered.
  if (line.sequence.load(std::memory_order_acquire) == next_ + 1) return;
  base::fail(heddleRemoteError, "rank {} closed its end of the {}", key_.from, pipe_name(key_));
}

void SharedMemoryReceivePipe::fail_length(std::size_t sent, std::size_t expected) const {
  base::fail(heddleRemoteError,
             "rank {} sent {} bytes where {} were expected: counts or types differ between ranks "
             "({})",
             key_.from, sent, expected, pipe_name(key_));
}

}  // namespace heddle::transport
