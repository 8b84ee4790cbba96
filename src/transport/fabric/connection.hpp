// A connection carries messages from one process to another, in order, each into a buffer that the
// receiver has posted (wire.hpp has the protocol). SendConnection and ReceiveConnection are its two
// ends; pipes stand on them.
//
// Thread rule: under Core::mutex. Errors: a verb on a failed connection throws what failed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/fabric/core.hpp"
#include "transport/fabric/matching.hpp"
#include "transport/fabric/window.hpp"

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
  // The same, and the other end's connection fails too, with this text.
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

class SendConnection final : public Connection {
 public:
  SendConnection(Core& core, Peer& peer, std::string label, const Shape& shape);

  void send_hello(const Hello& hello);
  // The answer to our hello, once; nothing when it has not come.
  std::optional<Welcome> take_welcome();
  // Whether the welcome answers our hello and no other.
  bool expects(const Welcome& welcome) const { return welcome.nonce == nonce_; }
  void open(const Welcome& welcome);

  std::uint64_t next() const { return grants_.next(); }
  // Whether the next message, of `bytes`, can leave now.
  bool ready(std::size_t bytes);
  // Sends the next message. `data` lies in `area`, and an eager message needs sizeof(Header) bytes
  // before it to write on. The memory must not change until sent(). Returns its sequence.
  std::uint64_t send(std::byte* data, std::size_t bytes, const Area& area);
  // As send, from memory that nobody registered; never for eager messages.
  std::uint64_t send_unregistered(const std::byte* data, std::size_t bytes);
  // Whether the memory of this message and all before it may change.
  bool sent(std::uint64_t sequence) const;
  bool flushed() const { return next() == 0 || sent(next() - 1); }
  // Of a connection that has failed: whether libfabric has no memory of send_unregistered in hand.
  bool at_rest();
  bool is_eager(std::size_t bytes) const { return core_.rma() && bytes <= shape_.eager_bytes; }
  const Shape& shape() const { return shape_; }

  // Messages that choose their receive (messages.hpp).
  const Grants& grants() const { return grants_; }
  // The receive has its message.
  void use(std::uint64_t receive) { grants_.use(receive); }
  // Whether nothing of an earlier message in that place is under way.
  bool is_free(std::uint64_t receive) const { return part(receive).under_way == 0; }
  // From memory that must not change until left(). Into the receive's credit, which is known and
  // long enough.
  void send_into(std::uint64_t receive, const std::byte* data, std::size_t bytes,
                 const Regions* regions);
  // Whether all of it has left.
  bool left(std::uint64_t receive) const {
    return part(receive).sequence != receive || part(receive).under_way == 0;
  }
  // Small ones, from a copy; they return its number.
  std::uint64_t send_copy_into(std::uint64_t receive, const std::byte* data, std::size_t bytes);
  std::uint64_t send_ahead(const Ahead& ahead, int tag, const std::byte* data, std::size_t bytes);
  // How many copies have left. Nobody may drive the transport after a message is said to be sent,
  // so one has not been sent before its copy has left; with several rails perhaps an earlier one.
  std::uint64_t copies_left() const { return copies_left_; }
  std::size_t told_length() const { return core_.told_length(shape_.eager_bytes); }

  void completed(const Request& request, std::size_t bytes) override;
  std::uint64_t key_for(const Request& request, int link) const override {
    return part(request.sequence).credit.keys[static_cast<std::size_t>(link)];
  }
  bool on_message(const Header& header, std::byte* payload, Request& bounce) override;
  void retire(Area memory) override;
  void step_closing() override;
  bool drained() const override;

 private:
  struct Part {
    int under_way = 0;                         // requests that have not got through
    std::uint64_t sequence = 0;                // of the last message in this place
    bool borrowed = false;                     // from memory that is not ours
    Credit credit;                             // of a message that is written
    Regions regions;                           // of user memory, while it is under way
    std::shared_ptr<const UserBuffer> buffer;  // or of a registered buffer
  };
  Part& part(std::uint64_t sequence) { return parts_[sequence % parts_.size()]; }
  const Part& part(std::uint64_t sequence) const { return parts_[sequence % parts_.size()]; }
  bool settled() const override { return true; }
  bool may_open() const override { return !welcome_until_.passed(); }
  bool may_send(std::size_t bytes) const;
  void on_credits(const Header& header, const std::byte* payload);
  void on_goodbye(const Header& header, const std::byte* payload);
  // How the receiver learns the length of a written message, where it needs to.
  enum class Length { before, apart };
  void send_long(std::uint64_t sequence, std::byte* data, std::size_t bytes, const Regions* regions,
                 Length length);
  void write_stripes(std::uint64_t sequence, std::byte* data, std::size_t bytes,
                     const Regions* regions, Length length);
  void send_eager(std::byte* data, std::size_t bytes, const Area& area);

  Shape shape_;
  Grants grants_;
  std::vector<Part> parts_;
  std::uint64_t messages_ = 0;  // sent, copies apart
  std::uint64_t copies_ = 0;    // of small messages
  std::uint64_t copies_left_ = 0;
  std::optional<Welcome> welcome_;
  std::array<std::uint8_t, 16> nonce_{};
  base::Deadline welcome_until_{base::Seconds(0)};  // once it is retired
  std::vector<Stripe> stripes_;
};

class ReceiveConnection final : public Connection {
 public:
  ReceiveConnection(Core& core, Peer& peer, std::string label, const Shape& shape,
                    const Hello& hello);
  ~ReceiveConnection() override;

  void send_welcome(Welcome welcome);
  // Says no; the other end's connect fails with the reason.
  void refuse(std::string_view reason);

  struct Buffer {
    std::byte* data;
    std::size_t bytes;
    std::uint64_t remote_address;  // Area::remote_address of data
    const Regions* regions;
    int tag = 0;
    std::uint32_t after = 0;  // so many more of the same receive follow
  };
  // The next receive, numbered from 0. Returns its number.
  std::uint64_t post(const Buffer& buffer);
  // Into these bytes of `area`, and the message's length kLengthBytes before.
  void post(std::byte* buffer, std::size_t bytes, const Area& area) {
    post({buffer, bytes, area.remote_address(buffer), area.regions()});
  }
  // Sends the credits that wait for company.
  void flush();
  std::uint32_t pending_credits() const { return pending_credits_; }

  // The next message, of exactly `bytes`, or null when it has not arrived.
  const std::byte* peek(std::size_t bytes);
  // The message that peek returned is done with.
  void pop();
  std::size_t told_length() const { return core_.told_length(shape_.eager_bytes); }

  // Messages that choose their receive (messages.hpp): said before the first post.
  void choose_by_tag() { matcher_.emplace(); }
  const Shape& shape() const { return shape_; }
  // Messages of whatever length: as peek and pop. Null: the next one is not whole.
  const Arrivals::Arrival* front() { return arrivals_.front(); }
  // Receives that are over.
  std::uint64_t popped() const { return arrivals_.next(); }
  std::uint64_t posted() const { return next_post_; }
  // Fails when no message can come any more.
  void check_comes();
  // All that can come has come: nobody writes into a posted buffer any more.
  bool at_rest() const { return !peer_.dead.empty() || (goodbye_received_ && settled()); }

  void completed(const Request& request, std::size_t bytes) override;
  void ended(const Request& request) override;
  bool on_message(const Header& header, std::byte* payload, Request& bounce) override;
  bool on_immediate(const Immediate& immediate, std::size_t bytes) override;
  void retire(Area memory) override;
  void step_closing() override;
  bool drained() const override;

 private:
  struct Posted {
    std::byte* buffer = nullptr;
    Request* receive = nullptr;  // under way, on the message path
  };
  bool settled() const override { return arrivals_.arrived() + unplaced_ >= final_; }
  bool on_eager(const Header& header, std::byte* payload, Request& bounce);
  bool on_ahead(const Header& header, std::byte* payload, Request& bounce);
  void on_length(const Header& header, const std::byte* payload);
  void place_ahead();
  void return_bounce(std::uint64_t cookie);

  Shape shape_;
  Arrivals arrivals_;
  std::vector<Posted> posted_;  // by sequence
  int receives_ = 0;            // under way
  bool cancelled_ = false;
  std::uint64_t next_post_ = 0;
  std::vector<std::byte> credits_;  // encoded, not sent yet
  std::uint32_t pending_credits_ = 0;
  std::uint32_t batch_;
  std::optional<ReceiveMatcher> matcher_;
  std::uint64_t unplaced_ = 0;  // messages that came ahead and have no receive yet
  std::uint64_t final_ = 0;     // messages that the sender has sent, once it said goodbye
};

}  // namespace heddle::transport::fabric
