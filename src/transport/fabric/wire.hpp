// What travels: the 32 bits beside an RDMA write, the header of every sent message, and the bodies
// of control messages. All integers are little-endian as the machine has them; a peer of another
// byte order fails the magic number.
//
//   sender                                          receiver
//     hello {key, its id, MAC}             ->
//                                          <-  welcome {its id, MAC}, credits {n: address, keys}
//     message n <= eager: eager {n, payload} ->   into a bounce buffer
//     message n > eager: RDMA writes into credit n, one a stripe, each with an immediate; where the
//     provider does not tell their length, the first one's begin 8 bytes earlier: the message's
//                                          <-  credits, batched
//     goodbye {messages sent}              ->
//                                          <-  goodbye {messages it is done with}
//     failure {code, text}, either way: the other end's connection fails with it
//     ping now and then by either that waits: nothing answers, but it cannot be sent to the dead
//     fate {n, stripe, attempt}            ->   of a write whose link failed, once it cannot land
//                                          <-  fate {..., whether it came}: if not, it is repeated
//
// Messages that choose their receive by a tag (matching.hpp) use the same credits, and besides:
//     ahead {number, tag, payload}         ->   a small one that no known credit is for
//     length {stripe, bytes}               ->   of a written message that is shorter than its
//     credit, where the provider does not tell: counts as its last stripe
//
// Between processes that do not know each other's addresses yet (meeting.hpp; connection 0):
//     introduce {listener, nonce, MAC, address} ->  an endpoint of the listener's handle
//                                          <-  introduced {nonce, MAC, address, or why not}
//
// Between two processes that have several rails in common (connection 0):
//     probe {the rail's endpoint} over it  ->
//                                          <-  its answer over the same rail, which then is up
//     rail state {rail, generation, address}, whenever a rail gets a new endpoint, either way
//
// Nothing depends on the order of arrival: every message carries its connection and its sequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "transport/pipe.hpp"

namespace heddle::transport::fabric {

inline constexpr std::uint16_t kMagic = 0x4c48;  // "HL"
inline constexpr std::uint8_t kProtocolVersion = 6;
inline constexpr int kMaxRails = 32;
// Messages under way on one connection; an immediate's sequence has room for twice as many.
inline constexpr std::uint32_t kMaxWindow = 128;
// Room for any control message, in the least packet of any adapter; credits are split to fit.
inline constexpr std::size_t kControlBytes = 4096 - 24;

// A probe is about as long as a packet of jumbo frames, so that a rail that loses long packets only
// does not answer either.
inline constexpr std::size_t kProbeBytes = 9216;

enum class Kind : std::uint8_t {
  hello = 1,
  welcome,
  credits,
  eager,
  goodbye,
  ping,
  probe,
  probe_answer,
  rail_state,
  failure,
  ahead,
  length,
  fate,
  introduce,
  introduced
};

struct Header {
  std::uint16_t magic = kMagic;
  std::uint8_t version = kProtocolVersion;
  Kind kind;
  std::uint32_t connection;  // the addressee's id of it; 0 in a hello
  std::uint32_t token;       // the addressee's, so that strays of an earlier one are dropped
  std::uint32_t sequence;    // of the (first) message or credit meant; low 32 bits
  std::uint32_t bytes;       // that follow this header
  // credits: messages the receiver is done with; goodbye: messages sent, or those that the receiver
  // is done with; failure: a heddleResult_t; ahead: the tag; length: the stripe, which is the last
  // one
  std::uint32_t count;
};
static_assert(sizeof(Header) == 24);
// Of a message between processes and not between ends of a connection.
constexpr Header header_of(Kind kind) {
  return {.kind = kind, .connection = 0, .token = 0, .sequence = 0, .bytes = 0, .count = 0};
}
static_assert(sizeof(Header) + kControlBytes == 4096);

// Messages of one connection that wait for a receive in the receiver's bounce buffers.
inline constexpr std::uint32_t kMostAhead = 8;

// What the payload of an `ahead` starts with.
struct Ahead {
  std::uint32_t number;         // among those of the connection
  std::uint32_t first_receive;  // low 32 bits; it is for no receive before
};
static_assert(sizeof(Ahead) == 8);

// What became of one write of a message into user memory, asked and answered.
struct Fate {
  std::uint32_t stripe;
  std::uint32_t attempt;  // to write it; an answer about an earlier one is late
  std::uint32_t came;     // the answer
};
static_assert(sizeof(Fate) == 12);

// The immediate of one stripe: connection 16 bits, sequence 8, stripe 4, stripes - 1 4.
struct Immediate {
  std::uint32_t connection;
  std::uint8_t sequence;
  std::uint32_t stripe;
  std::uint32_t stripes;
};
inline constexpr std::uint32_t kMaxStripes = 16;
inline constexpr std::uint32_t kMaxConnections = 1u << 16;

constexpr std::uint32_t pack(const Immediate& immediate) {
  return immediate.connection << 16 | std::uint32_t{immediate.sequence} << 8 |
         immediate.stripe << 4 | (immediate.stripes - 1);
}
constexpr Immediate unpack(std::uint32_t bits) {
  return {bits >> 16, static_cast<std::uint8_t>(bits >> 8), bits >> 4 & 15, (bits & 15) + 1};
}

// Tag of message `sequence` on the message path.
constexpr std::uint64_t message_tag(std::uint32_t connection, std::uint64_t sequence) {
  return std::uint64_t{connection} << 32 | (sequence & 0xffffffff);
}

// The full sequence number whose low bits are `low`, nearest to `about`.
constexpr std::uint64_t extend(std::uint32_t low, std::uint64_t about) {
  return about + static_cast<std::uint64_t>(static_cast<std::int64_t>(
                     static_cast<std::int32_t>(low - static_cast<std::uint32_t>(about))));
}

// A receive buffer that the sender may fill: where it lies and one key a rail.
struct Credit {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int32_t tag = 0;     // of the message that it is for
  std::uint32_t after = 0;  // so many more buffers of the same receive follow
  std::array<std::uint64_t, kMaxRails> keys{};
};
constexpr std::size_t credit_bytes(int rails) { return 24 + 8 * static_cast<std::size_t>(rails); }
std::size_t encode(const Credit& credit, int rails, std::byte* to);
Credit decode_credit(const std::byte* from, int rails);

// Every buffer that a credit names has so much room before it, for the length of the message.
inline constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

// What both ends must agree on before the first message.
struct Shape {
  std::uint32_t slots;
  std::uint32_t eager_bytes;
  std::uint64_t slot_bytes;
};

using Mac = std::array<std::uint8_t, 32>;

struct Hello {
  CommunicatorId communicator;
  std::int32_t from, to, channel;
  std::uint32_t connection;  // the sender's id and token, for messages to it
  std::uint32_t token;
  std::uint32_t rails;
  Shape shape;
  std::uint64_t from_instance, to_instance;  // processes; a hello meant for another is dropped
  std::array<std::uint8_t, 16> nonce;
  Mac mac;  // keyed hash of all above
};
static_assert(sizeof(Hello) == 120 && std::is_trivially_copyable_v<Hello>);

struct Welcome {
  std::uint32_t connection;
  std::uint32_t token;
  Shape shape;
  std::array<std::uint8_t, 16> nonce;  // the hello's, returned
  Mac mac;
};
static_assert(sizeof(Welcome) == 72 && std::is_trivially_copyable_v<Welcome>);

// The endpoint that the sender's rail of a link has now.
struct RailEnd {
  std::uint32_t generation;     // endpoints that the rail has had before
  std::uint32_t address_bytes;  // 0 while it is closed
  std::array<std::uint8_t, 256> address;
};

// What a probe and its answer start with; the rest is padding. Instances are known to members of
// the job only. Whoever gets one knows where to answer, whatever it knew before.
struct Probe {
  std::uint64_t from_instance, to_instance;
  std::uint32_t link;    // counted as both ends do
  std::uint32_t number;  // returned by the answer
  RailEnd end;
};
inline constexpr std::size_t kLeastProbeBytes = 1024;
static_assert(sizeof(Probe) <= kLeastProbeBytes, "a probe is never shorter");

struct RailState {
  std::uint64_t from_instance, to_instance;
  std::uint32_t link;
  // The receiver's rail must be of this generation or a later one: the sender gave up writes to an
  // earlier endpoint, and only that one's end is theirs too.
  std::uint32_t asks_for;
  // The sender will not go on to this generation, which it was asked for: a process that has no
  // other rail would lose its connection. 0: it was asked for nothing, or will.
  std::uint32_t refuses;
  RailEnd end;
};

void seal(Hello& hello, const PipeSecret& secret);
bool sealed_by(const Hello& hello, const PipeSecret& secret);
void seal(Welcome& welcome, const PipeSecret& secret);
bool sealed_by(const Welcome& welcome, const PipeSecret& secret);

// What a process publishes: how to reach it, and what its peers must have in common with it.
struct ProcessAddress {
  std::string provider;
  std::string protocol;
  bool rma = false;
  std::uint64_t instance = 0;  // random, one a transport
  std::string host;
  int pid = 0;
  struct RailAddress {
    std::vector<std::uint8_t> address;  // libfabric's
    std::string adapter;                // its name; never with " ,@="
    std::string network;                // Adapter::network
    double gigabits = 0;                // 0: unknown
    std::uint32_t generation = 0;       // endpoints that the rail has had before this one

    bool operator==(const RailAddress&) const = default;
  };
  std::vector<RailAddress> rails;
};
std::string to_text(const ProcessAddress& address);
// Fails with heddleInvalidArgument when the text is none of ours.
ProcessAddress parse_address(const std::string& text);

}  // namespace heddle::transport::fabric
