// One emulated endpoint: posts become operations, operations packets; packets of peers become
// memory, receives and completions. Everything under the domain's lock, which the verbs take.
//   endpoint.cpp   life: opening, binding, enabling, closing
//   posting.cpp    what a post must fulfil
//   sending.cpp    operations to packets, answers to completions
//   receiving.cpp  packets to memory
//   verbs.cpp      libfabric's tables
#pragma once

#include <rdma/fi_endpoint.h>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "address_vector.hpp"
#include "completions.hpp"
#include "domain.hpp"
#include "lower.hpp"
#include "shuffle.hpp"

namespace emulated_efa {

inline constexpr std::size_t kMaxPieces = 4;

struct Pieces {
  std::array<iovec, kMaxPieces> iov{};
  std::array<void*, kMaxPieces> desc{};
  std::size_t count = 0;

  std::size_t bytes() const;
  // Copies bytes [offset, offset + bytes) of them out, or into them.
  void gather(std::byte* to, std::size_t offset, std::size_t bytes) const;
  void scatter(const std::byte* from, std::size_t offset, std::size_t bytes) const;
};

// A send or write as posted.
struct Post {
  Kind kind;
  Pieces pieces;
  fi_addr_t to;
  std::uint64_t remote = 0;
  std::uint64_t key = 0;
  std::uint64_t tag = 0;
  std::optional<std::uint64_t> immediate;
  void* context = nullptr;
  std::uint64_t flags = 0;
  bool inject = false;  // no completion, and no descriptor
};

struct PostedReceive {
  bool tagged;
  Pieces pieces;
  fi_addr_t from;
  std::uint64_t tag = 0, ignore = 0;
  void* context = nullptr;
  bool completes = true;
};

struct Operation {
  Post post;
  std::uint64_t number = 0;
  Peer* peer = nullptr;
  std::uint64_t total = 0;
  std::uint64_t sent = 0;  // bytes in packets so far
  bool all_sent = false;
  int fate = kFine;                   // the script's
  std::unique_ptr<std::byte[]> copy;  // injected: our own copy
  Clock::time_point posted;
  Clock::time_point touched;  // its last packet
};

// A message that comes in several packets.
struct Assembly {
  std::uint64_t here = 0;  // bytes
  bool failed = false;
  std::unique_ptr<std::byte[]> data;  // sends: until they are whole
};

struct Peer {
  Peer(const EfaAddress& at, fi_addr_t below, const Config& config)
      : address(at),
        lower(below),
        incoming(config.seed, config.script.shuffle_window, config.script.shuffle_hold) {}

  EfaAddress address;
  fi_addr_t lower;
  std::uint64_t next_number = 0;  // of packets to it
  std::deque<Operation*> sending;
  std::deque<Packet*> stuck;  // built, not yet taken underneath
  int in_flight = 0;          // data packets underneath
  Clock::time_point life{};   // the last sign of it
  Shuffle<Packet*> incoming;
  std::map<std::uint64_t, Assembly> assemblies;  // by the peer's number of the message
};

// A message that came before its receive.
struct Unexpected {
  PacketHeader header;
  std::unique_ptr<std::byte[]> data;
};

class Endpoint : public fid_ep {
 public:
  static int open(Domain& domain, const fi_info& info, void* context, fid_ep** opened);
  ~Endpoint();

  int bind(struct fid* object, std::uint64_t flags);
  int enable();
  // Closes; what has arrived is delivered and answered first, for a bounded time.
  void wind_up();

  // 0 or a negative fi_errno.
  long post(Post post);
  long post_receive(PostedReceive receive);
  long cancel(void* context);

  void progress(Clock::time_point now, bool dead);

  Domain& domain() const { return domain_; }
  const EfaAddress& address() const { return address_; }
  bool enabled() const { return lower_.has_value(); }
  // fi_setopt of FI_OPT_ENDPOINT. 0 or a negative fi_errno.
  int set_option(int name, const void* value, std::size_t bytes);
  std::uint64_t op_flags() const { return op_flags_; }

 private:
  Endpoint(Domain& domain, const fi_info& info, void* context);

  // posting.cpp
  long refuse(int error, const std::string& why) const;
  long check_post(const Post& post) const;
  long check_pieces(const Pieces& pieces) const;
  bool registered(const Pieces& pieces, std::uint64_t access) const;
  // Registered pieces at the addresses where they are reached.
  Pieces reached(const Pieces& pieces) const;
  bool completes(const Post& post) const;

  // sending.cpp
  Peer& peer(const EfaAddress& address);
  void send_all(Clock::time_point now);
  bool send_stuck(Peer& peer);
  Packet& build(Operation& operation);
  void answer(Peer& peer, std::uint64_t message, int status);
  void on_answer(Peer& peer, const PacketHeader& header);
  void finish(Operation& operation, int status);
  void fail_all(int status);
  void lose_patience(Clock::time_point now);
  Packet& take_packet();
  void give_packet(Packet& packet);

  // receiving.cpp
  void poll(Clock::time_point now, bool dead);
  void on_packet(Packet& packet, std::size_t bytes, Clock::time_point now);
  void deliver_due(Clock::time_point now);
  void deliver(Peer& peer, Packet& packet);
  void deliver_write(Peer& peer, Packet& packet);
  void deliver_send(Peer& peer, Packet& packet);
  bool matches(const PostedReceive& receive, const PacketHeader& header) const;
  void complete_receive(const PostedReceive& receive, const PacketHeader& header,
                        const std::byte* data);
  void post_buffer(Packet& packet);

  Domain& domain_;
  std::uint64_t caps_;
  std::uint64_t op_flags_;
  std::size_t tx_size_, rx_size_;
  EfaAddress address_{};
  AddressVector* vector_ = nullptr;
  CompletionQueue* tx_queue_ = nullptr;
  CompletionQueue* rx_queue_ = nullptr;
  bool tx_selective_ = false;

  std::map<EfaAddress, std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Operation>> operations_;  // by number
  std::uint64_t next_operation_ = 0;
  std::list<PostedReceive> receives_;
  std::list<Unexpected> unexpected_;
  struct Late {
    Packet* packet;
    Peer* peer;
    Clock::time_point ready;
  };
  std::deque<Late> late_;  // arrived, slowed down by the script
  Clock::time_point next_look_{};
  std::uint64_t moved_ = 0;  // packets, either way; tells whether anything happens
  int answers_under_way_ = 0;

  std::vector<std::unique_ptr<Packet>> packets_;  // all there are
  std::vector<Packet*> free_packets_;
  std::vector<Packet*> unposted_;       // receive buffers that wait to be posted
  std::optional<LowerEndpoint> lower_;  // last: closed before its packets go
};

// verbs.cpp: fills in the tables.
void set_tables(Endpoint& endpoint, void* context);

}  // namespace emulated_efa
