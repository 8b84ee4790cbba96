// A pipe in this process for tests, unhelpful on purpose: it says "not yet" when its seed says so,
// scribbles over slots that are not the executor's to use, and in zero-copy mode reads the sender's
// memory as late as the contract lets it. What breaks the contract throws std::logic_error.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "transport/pipe.hpp"

namespace heddle::test {

struct WireOptions {
  int slots = 4;
  std::size_t slot_bytes = 4096;
  bool zero_copy = false;
  bool reluctant = false;
  std::uint32_t seed = 1;
  // Longer messages are taken for whatever length the receiver expects, as if it were not told.
  std::size_t told_length = transport::SendPipe::kEveryLength;
};

inline void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

class Wire final : public transport::SendPipe, public transport::ReceivePipe {
 public:
  explicit Wire(const WireOptions& options)
      : options_(options),
        random_(options.seed),
        memory_(static_cast<std::size_t>(options.slots) * options.slot_bytes),
        messages_(static_cast<std::size_t>(options.slots)) {}

  std::byte* acquire(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    require(bytes >= 1 && bytes <= options_.slot_bytes, "acquire of a size that no slot has");
    if (acquired_ != 0) {
      require(acquired_ == bytes, "acquire of another size before commit");
      return slot(committed_);
    }
    if (not_yet() || full()) return nullptr;
    acquired_ = bytes;
    std::memset(slot(committed_), 0xEE, bytes);
    return slot(committed_);
  }

  void commit(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    require(acquired_ == bytes, "commit of what was not acquired");
    messages_[committed_ % messages_.size()] = {nullptr, bytes, hash_of(committed_, bytes)};
    ++committed_;
    acquired_ = 0;
  }

  std::optional<std::uint64_t> send_from(const std::byte* data, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    require(options_.zero_copy, "send_from on a pipe that does not");
    require(bytes >= 1 && bytes <= options_.slot_bytes, "send_from of a size that no slot has");
    require(acquired_ == 0, "send_from between acquire and commit");
    if (not_yet() || full()) return std::nullopt;
    messages_[committed_++ % messages_.size()] = {data, bytes, 0};
    ++sent_in_place_;
    return committed_;
  }

  bool sent(std::uint64_t ticket) override {
    const std::lock_guard lock(mutex_);
    require(ticket >= 1 && ticket <= committed_, "sent of a ticket that was never given");
    while (delivered_ < ticket && !not_yet()) deliver();
    return delivered_ >= ticket;
  }

  bool sends_in_place(std::size_t bytes) const override { return options_.zero_copy && bytes > 16; }

  const std::byte* peek(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (!peeked_ && not_yet()) return nullptr;
    if (delivered_ == released_ && delivered_ < committed_) deliver();
    if (delivered_ == released_) return nullptr;
    const std::size_t sent = messages_[released_ % messages_.size()].bytes;
    const bool told = std::min(sent, bytes) <= options_.told_length;
    require(!told || sent == bytes, "peek of another size than sent");
    peeked_ = true;
    return slot(released_);
  }

  void release() override {
    const std::lock_guard lock(mutex_);
    require(peeked_, "release of what was not peeked");
    const Message& message = messages_[released_ % messages_.size()];
    require(hash_of(released_, message.bytes) == message.hash,
            "a slot was written after its commit");
    std::memset(slot(released_), 0xDD, options_.slot_bytes);
    ++released_;
    peeked_ = false;
  }

  std::size_t slot_bytes() const override { return options_.slot_bytes; }
  std::size_t told_length() const override { return options_.told_length; }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return acquired_ == 0 && !peeked_ && committed_ == released_;
  }
  std::uint64_t messages() const {
    const std::lock_guard lock(mutex_);
    return committed_;
  }
  std::uint64_t sent_in_place() const {
    const std::lock_guard lock(mutex_);
    return sent_in_place_;
  }

 private:
  struct Message {
    const std::byte* from;  // the sender's memory, null when the slot has it
    std::size_t bytes;
    std::size_t hash;  // of what the slot holds
  };

  std::byte* slot(std::uint64_t message) {
    return memory_.data() + message % messages_.size() * options_.slot_bytes;
  }
  bool full() const { return committed_ - released_ == messages_.size(); }
  bool not_yet() { return options_.reluctant && random_() % 3 == 0; }
  std::size_t hash_of(std::uint64_t message, std::size_t bytes) {
    const auto* const text = reinterpret_cast<const char*>(slot(message));
    return std::hash<std::string_view>{}({text, bytes});
  }
  void deliver() {
    Message& message = messages_[delivered_ % messages_.size()];
    if (message.from != nullptr) {
      std::memcpy(slot(delivered_), message.from, message.bytes);
      message.hash = hash_of(delivered_, message.bytes);
    }
    ++delivered_;
  }

  const WireOptions options_;
  mutable std::mutex mutex_;
  std::minstd_rand random_;
  std::vector<std::byte> memory_;
  std::vector<Message> messages_;
  std::size_t acquired_ = 0;
  bool peeked_ = false;
  // Messages so far; each has passed the ones after it in this list.
  std::uint64_t committed_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t sent_in_place_ = 0;
};

}  // namespace heddle::test
