// Pipes over one connection. The sender has a ring of slots to fill; the receiver has slots that it
// posts as credits, and posts again when a message has been read. Eager messages are read in the
// bounce buffer where they arrived.
//
// Credits go back in batches of half the slots, so that a stream of small messages does not pay one
// message back for each. A sender may thus see slots/2 + 1 of its slots while the receiver has
// released all: schedules must not need more.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/fabric/receive_connection.hpp"
#include "transport/fabric/send_connection.hpp"
#include "transport/pipe.hpp"

namespace heddle::transport::fabric {

class FabricSendPipe final : public SendPipe {
 public:
  // Under the core's lock, as all of the constructors and of the connection's verbs.
  FabricSendPipe(std::shared_ptr<Core> core, SendConnection& connection,
                 const PipeOptions& options);
  ~FabricSendPipe() override;

  std::byte* acquire(std::size_t bytes) override;
  void commit(std::size_t bytes) override;
  std::optional<std::uint64_t> send_from(const std::byte* data, std::size_t bytes) override;
  bool sent(std::uint64_t ticket) override;
  bool flushed() override;
  void give_up() override;
  bool at_rest() override;
  bool sends_in_place(std::size_t bytes) const override { return !connection_.is_eager(bytes); }
  std::size_t slot_bytes() const override { return options_.slot_bytes; }
  std::size_t told_length() const override { return connection_.told_length(); }

 private:
  void check_size(std::size_t bytes) const;
  std::byte* slot(std::uint64_t sequence) const;

  std::shared_ptr<Core> core_;
  SendConnection& connection_;
  PipeOptions options_;
  Area ring_;
  std::size_t acquired_ = 0;  // bytes; 0: none
};

class FabricReceivePipe final : public ReceivePipe {
 public:
  FabricReceivePipe(std::shared_ptr<Core> core, ReceiveConnection& connection,
                    const PipeOptions& options);
  ~FabricReceivePipe() override;

  const std::byte* peek(std::size_t bytes) override;
  void release() override;
  void give_up() override;
  std::size_t slot_bytes() const override { return options_.slot_bytes; }
  std::size_t told_length() const override { return connection_.told_length(); }

 private:
  void post();

  std::shared_ptr<Core> core_;
  ReceiveConnection& connection_;
  PipeOptions options_;
  Area slots_;
  std::size_t next_slot_ = 0;
};

}  // namespace heddle::transport::fabric
