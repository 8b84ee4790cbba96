// The receiving end of a connection: receives are posted as credits, and what has come is put in
// order.
//
// Thread rule: under Core::mutex. Errors: as Connection's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/fabric/connection.hpp"
#include "transport/fabric/matching.hpp"
#include "transport/fabric/window.hpp"

namespace heddle::transport::fabric {

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
  void on_fate(const Header& header, const std::byte* payload);
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
