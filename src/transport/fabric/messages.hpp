// Messages of any length from and into the caller's memory, without a copy of the long ones, in one
// direction between two processes. Which receive a message goes into is said by tags
// (matching.hpp). NCCL's net plugin is made of these.
//
// Errors: base::Error; a failed end fails in every verb, and so does the other end soon.
// Thread rule: any thread; each verb locks the core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/fabric/matching.hpp"
#include "transport/fabric/receive_connection.hpp"
#include "transport/fabric/send_connection.hpp"

namespace heddle::transport::fabric {

// Memory of the caller's that the rails know as long as this lives.
class MessageMemory {
 public:
  MessageMemory(std::shared_ptr<Core> core, std::byte* data, std::size_t bytes, Access access,
                const MemoryOwner& owner);
  ~MessageMemory();
  MessageMemory(const MessageMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Null where no rail needs to know it.
  const Regions* regions() const { return regions_.empty() ? nullptr : &regions_; }
  // Whether the processor may read and write it.
  bool is_host() const { return owner_.is_host(); }
  // Whose it is otherwise, by the vendor's number.
  int device() const { return owner_.device; }
  std::uint64_t remote_address(const std::byte* at) const;

 private:
  std::shared_ptr<Core> core_;
  std::byte* data_;
  std::size_t bytes_;
  MemoryOwner owner_;
  Regions regions_;
};

class MessageSender {
 public:
  MessageSender(std::shared_ptr<Core> core, SendConnection& connection);
  // What is under way is let go of; see at_rest.
  ~MessageSender();
  MessageSender(const MessageSender&) = delete;

  // A message on its way.
  struct Sent {
    bool copied;           // its memory may change already
    std::uint64_t number;  // of the copy, or of its receive
  };
  // `memory` holds the bytes; null where there are none. Nothing: not now. The memory must not
  // change until has_left, which must be asked until then. Fails with heddleInvalidUsage, also at
  // the receiver, when it is longer than the receive that it matches.
  std::optional<Sent> send(const std::byte* data, std::size_t bytes, int tag,
                           const MessageMemory* memory);
  bool has_left(const Sent& sent);
  bool has_failed() const;

  // The end of all verbs.
  void give_up();
  // Whose process receives.
  std::uint64_t peer() const { return connection_.peer().address.instance; }
  // After give_up: whether the adapters have let go of all memory.
  bool at_rest();

 private:
  void learn_credits();
  void on_placed(std::uint64_t receive, const SendMatcher::Ahead& ahead);

  std::shared_ptr<Core> core_;
  SendConnection& connection_;
  SendMatcher matcher_;
  std::uint64_t learnt_ = 0;  // credits
  std::uint32_t ahead_ = 0;   // messages sent so
};

class MessageReceiver {
 public:
  MessageReceiver(std::shared_ptr<Core> core, ReceiveConnection& connection);
  ~MessageReceiver();
  MessageReceiver(const MessageReceiver&) = delete;

  struct Buffer {
    std::byte* data;
    std::size_t bytes;  // at most so many are received
    int tag;
    const MessageMemory* memory;  // that holds the bytes; null where there are none
    std::size_t* received;        // gets the message's length; stays until has_come
  };
  // One receive of one buffer or several. Nothing: too many are under way. Otherwise a ticket.
  std::optional<std::uint64_t> receive(std::span<const Buffer> buffers);
  // Whether the receive, and all before it, is over. Fails with heddleInvalidUsage, also at the
  // sender, when a message was longer than its buffer.
  bool has_come(std::uint64_t ticket);
  bool has_failed() const;

  // The end of all verbs: nothing is put into the buffers of receives any more by this process.
  void give_up();
  // Whose process sends.
  std::uint64_t peer() const { return connection_.peer().address.instance; }
  // After give_up: whether adapters will not either.
  bool at_rest();

 private:
  void take_arrivals();
  void take(const Arrivals::Arrival& arrival);

  std::shared_ptr<Core> core_;
  ReceiveConnection& connection_;
  struct Posted {
    std::byte* data;
    std::size_t bytes;
    std::size_t* received;
  };
  std::vector<Posted> posted_;  // by receive
  std::uint32_t idle_ = 0;      // looks that found nothing
  bool given_up_ = false;       // the buffers may be gone
};

}  // namespace heddle::transport::fabric
