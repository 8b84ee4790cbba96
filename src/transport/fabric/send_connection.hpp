// The sending end of a connection: what leaves into which credit, and what has left.
//
// Thread rule: under Core::mutex. Errors: as Connection's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/fabric/connection.hpp"
#include "transport/fabric/window.hpp"

namespace heddle::transport::fabric {

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
  //
  // Said first. A receiver's buffer is its program's as soon as the message is whole: a write that
  // has landed must not be written again.
  void write_once() { writes_once_ = true; }
  bool may_repeat() const override { return !writes_once_; }
  void ask_for(const Request& write) override;
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
    return receive < over_ || part(receive).sequence != receive || part(receive).under_way == 0;
  }
  // Small ones, from a copy; they return its number.
  std::uint64_t send_copy_into(std::uint64_t receive, const std::byte* data, std::size_t bytes);
  std::uint64_t send_ahead(const Ahead& ahead, int tag, const std::byte* data, std::size_t bytes);
  // Whether that copy has left. Nobody may drive the transport after a message is said to be sent,
  // so one has not been sent before its copy has left; with several rails perhaps an earlier one.
  bool copy_left(std::uint64_t number) const {
    return copies_left_ > number || over_ >= messages_ + copies_;
  }
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
  void on_fate(const Header& header, const std::byte* payload);
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
  bool writes_once_ = false;
  std::uint64_t messages_ = 0;  // sent, copies apart
  std::uint64_t copies_ = 0;    // of small messages
  std::uint64_t copies_left_ = 0;
  // Messages that the receiver was done with when it closed: what the adapters have not
  // acknowledged of them has arrived all the same.
  std::uint64_t over_ = 0;
  std::optional<Welcome> welcome_;
  std::array<std::uint8_t, 16> nonce_{};
  base::Deadline welcome_until_{base::Seconds(0)};  // once it is retired
  std::vector<Stripe> stripes_;
};

}  // namespace heddle::transport::fabric
