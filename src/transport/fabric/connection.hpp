// A connection carries messages from one process to another, in order, each into a buffer that the
// receiver has posted (wire.hpp has the protocol). Here is what its two ends have in common; pipes
// and messages stand on send_connection.hpp and receive_connection.hpp.
//
// Thread rule: under Core::mutex. Errors: a verb on a failed connection throws what failed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/fabric/core.hpp"

namespace heddle::transport::fabric {

class Connection {
 public:
  Connection(Core& core, Peer& peer, std::string label);
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;

  std::uint32_t id() const { return id_; }
  std::uint32_t token() const { return token_; }
  Peer& peer() const { return peer_; }
  const std::string& label() const { return label_; }

  // The first failure stays; requests that wait to be posted are dropped.
  void fail(heddleResult_t code, const std::string& what);
  // The same, and the other end's connection fails too, with this text; also when this end has
  // failed before and has told nobody.
  void fail_both(heddleResult_t code, const std::string& what);
  bool failed() const { return error_.has_value(); }
  bool retired() const { return retired_; }
  void check() const {
    if (error_) throw *error_;
  }

  // Of the core. A request has been completed and is about to be recycled.
  void request_started() { ++outstanding_; }
  void request_ended() { --outstanding_; }
  virtual void completed(const Request& request, std::size_t bytes) = 0;
  // It failed or was cancelled; the same otherwise.
  virtual void ended(const Request&) {}
  // Whether a write that may have landed may be written again. If not, the peer is asked first, and
  // Core::decide is called with its answer.
  virtual bool may_repeat() const { return true; }
  virtual void ask_for(const Request&) {}
  // What to write with over that link.
  virtual std::uint64_t key_for(const Request&, int) const { return 0; }
  // A message to this connection. True when it keeps the bounce buffer.
  virtual bool on_message(const Header& header, std::byte* payload, Request& bounce) = 0;
  // `bytes` were written; 0 where the provider does not tell.
  virtual bool on_immediate(const Immediate&, std::size_t /*bytes*/) { return false; }
  void set_id(std::uint32_t id) { id_ = id; }

  void send_ping();

  // The end. Its pipe is gone; `memory` stays until nothing can touch it any more.
  virtual void retire(Area memory);
  virtual void step_closing() = 0;
  // May be freed.
  bool finished() const;
  // All that others wait for has been sent, and what we sent has been received.
  virtual bool drained() const = 0;

  // A verb found nothing to do; after a second of that, the peer is asked whether it lives.
  void waited();
  void went_on() { waits_ = 0; }

 protected:
  void send_goodbye(std::uint64_t messages, std::string_view reason = {});
  void on_failure(const Header& header, const std::byte* payload);
  // Fills in what addresses a message to the other end.
  Header to_peer(Kind kind) const {
    return {.kind = kind,
            .connection = remote_id_,
            .token = remote_token_,
            .sequence = 0,
            .bytes = 0,
            .count = 0};
  }
  // Not open yet, and the other end may be.
  virtual bool may_open() const { return false; }
  // Every message that can still come has come.
  virtual bool settled() const = 0;

  Core& core_;
  Peer& peer_;
  int links_;  // to the peer
  bool open_ = false;
  bool retired_ = false;
  bool goodbye_sent_ = false;
  bool goodbye_received_ = false;
  bool failure_known_ = false;  // at the other end
  int outstanding_ = 0;
  std::uint32_t remote_id_ = 0;
  std::uint32_t remote_token_ = 0;
  std::optional<base::Error> error_;

 private:
  std::uint32_t waits_ = 0;  // since a verb last went on
  base::Clock::time_point quiet_since_;
  std::string label_;
  std::uint32_t id_ = 0;
  std::uint32_t token_;
  Area memory_;
};

}  // namespace heddle::transport::fabric
