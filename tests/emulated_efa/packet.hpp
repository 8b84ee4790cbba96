// What travels between two emulated adapters, as messages of the provider underneath. A message is
// cut into packets; they arrive, and are put into memory, in any order. The receiving end answers
// once a message: with kFine when all of it is in place, else with what was wrong.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "address.hpp"

namespace emulated_efa {

inline constexpr std::uint32_t kMagic = 0x41464545;  // "EEFA"
// Real packets have at most 8.9 kB; more a packet saves the machine's time.
inline constexpr std::size_t kPayload = 32 << 10;

enum class Kind : std::uint8_t { send, tagged, write, answer };

struct PacketHeader {
  std::uint32_t magic;
  Kind kind;
  bool has_immediate;
  std::uint16_t status;   // answer
  std::uint64_t message;  // the writer's number of it
  std::uint64_t number;   // of this packet among all from one endpoint to another
  std::uint64_t total;    // bytes of the message
  std::uint64_t offset;   // of this packet in it
  std::uint64_t remote;   // write: address of the message's first byte
  std::uint64_t tag;      // tagged
  std::uint32_t bytes;    // that follow
  std::uint32_t key;      // write
  std::uint32_t immediate;
  std::uint32_t to_qkey;  // the addressee's
  std::int64_t through;   // when the writer's adapter let it go, on the machine's steady clock
  EfaAddress from;
};
static_assert(sizeof(PacketHeader) == 112);

struct Peer;

struct Packet {
  explicit Packet(std::size_t room) : bytes(new std::byte[sizeof(PacketHeader) + room]) {}

  PacketHeader& header() { return *reinterpret_cast<PacketHeader*>(bytes.get()); }
  std::byte* payload() { return bytes.get() + sizeof(PacketHeader); }

  fi_context2 context{};  // first: the provider underneath hands it back
  bool incoming = false;
  Peer* peer = nullptr;  // outgoing: to whom
  std::unique_ptr<std::byte[]> bytes;
};

}  // namespace emulated_efa
