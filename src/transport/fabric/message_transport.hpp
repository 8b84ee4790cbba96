// Connections for messages (messages.hpp) between processes that find each other by handles
// (meeting.hpp). For programs that have no communicator, NCCL's net plugin above all.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "transport/fabric/handshake.hpp"
#include "transport/fabric/meeting.hpp"
#include "transport/fabric/messages.hpp"

namespace heddle::transport::fabric {

struct MessageOptions {
  std::uint32_t window = 32;  // receives under way on one connection, 1 to kMaxWindow
  // Whether small messages may be copied: the processor can reach all memory of this process's
  // receives.
  bool copies = true;
};

class MessageTransport {
 public:
  // One rail an adapter of `provider`. Fails with heddleSystemError when one does not open.
  MessageTransport(const base::Settings& settings, const ChosenProvider& provider,
                   const MessageOptions& options);
  // Connections may outlive it.
  ~MessageTransport();

  struct Listener {
    std::uint32_t number;
    std::vector<std::byte> handle;  // at most kHandleBytes
  };
  Listener listen();
  void unlisten(std::uint32_t listener);
  // Null: nobody there yet. One whose connection does not come to be in HEDDLE_INIT_TIMEOUT is
  // dropped and logged.
  std::unique_ptr<MessageReceiver> accept(std::uint32_t listener);

  // As Meeting::call. Returns the call's number.
  std::uint64_t call(std::span<const std::byte> handle);
  // Null: not connected yet. The call is over when it fails or connects, or nobody asks for it, as
  // Meeting::answer.
  std::unique_ptr<MessageSender> connect(std::uint64_t call);

  std::unique_ptr<MessageMemory> register_memory(std::byte* data, std::size_t bytes, Access access,
                                                 const MemoryOwner& owner);
  bool rma() const { return core_->rma(); }
  // As FabricTransport's.
  void renew_rail(int rail, const std::string& why);

 private:
  struct Pending {         // answered or called; the handshake is under way
    std::uint64_t number;  // of the listener or of the call
    Meeting::Acquaintance acquaintance;
    base::Deadline deadline;
    base::Clock::time_point last_asked = base::Clock::now();
  };
  using Pendings = std::list<Pending>;

  ConnectionRequest request_for(const Meeting::Acquaintance& acquaintance) const;
  void begin(Pendings& list, std::uint64_t number, Meeting::Acquaintance acquaintance);
  void end(Pendings& list, Pendings::iterator pending);
  // Of connect: those that nobody has asked for in HEDDLE_INIT_TIMEOUT.
  void drop_forgotten();

  std::shared_ptr<Core> core_;
  MessageOptions options_;
  // Under the core's mutex.
  std::unique_ptr<Handshake> handshake_;
  std::unique_ptr<Meeting> meeting_;
  Pendings accepting_, connecting_;
};

}  // namespace heddle::transport::fabric
