// What crosses between the ranks and the root: each message once, for the end that writes it and
// the end that reads it. bytes.hpp says how a field looks as bytes.
//
// Join: a rank says Hello, the root answers with a Challenge, the rank with Join, and when all are
// there everybody gets the Table. Then, as often as the ranks like, each sends an Exchange and gets
// the Table of all. Afterwards the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "communicator/bytes.hpp"
#include "heddle/heddle.h"

namespace heddle::communicator {

// Counts up whenever something of this file changes.
inline constexpr std::uint32_t kProtocolVersion = 3;
inline constexpr int kMostRanks = 1 << 20;
// A rank's text in a table: 64 KiB is far more than a rank has to say.
inline constexpr std::size_t kLargestText = 1 << 16;
// A line of what a rank calls (lines_to_agree).
inline constexpr std::size_t kLargestLine = 64;

enum class Kind : std::uint8_t {
  hello = 1,
  challenge,
  join,
  table,
  exchange,
  heartbeat,
  stuck,
  give_up,
  failure,
  leave,
  all_left,
  calls,
  agreed
};

struct Message {
  Kind kind;
  std::string payload;
};

// ---- from a rank --------------------------------------------------------------------------------

struct Hello {
  static constexpr Kind kKind = Kind::hello;
  std::uint32_t version = kProtocolVersion;
  std::string nonce;
  static auto fields(auto& m) { return std::tie(m.version, m.nonce); }
};

struct Join {
  static constexpr Kind kKind = Kind::join;
  std::string proof;  // over both nonces, the rank's first
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::string host;
  std::uint32_t pid = 0;
  std::uint32_t timeout_ms = 0;  // how long it wants to wait for all to join
  std::string text;              // for the first table
  static auto fields(auto& m) {
    return std::tie(m.proof, m.rank, m.ranks, m.host, m.pid, m.timeout_ms, m.text);
  }
};

struct Exchange {
  static constexpr Kind kKind = Kind::exchange;
  std::string text;  // for the next table
  static auto fields(auto& m) { return std::tie(m.text); }
};

// Twice a second.
struct Heartbeat {
  static constexpr Kind kKind = Kind::heartbeat;
  std::uint64_t started = 0;    // operations
  bool stands_still = false;    // its operation has not moved for kVanishedSeconds
  std::int32_t waits_for = -1;  // the rank that a send or a receive has long been waiting for
  static auto fields(auto& m) { return std::tie(m.started, m.stands_still, m.waits_for); }
};

// An operation makes no progress.
struct Stuck {
  static constexpr Kind kKind = Kind::stuck;
  std::uint64_t operation = 0;  // 0: sends and receives, which are not everybody's
  std::int32_t waits_for = -1;  // -1: nobody in particular
  std::string what;
  static auto fields(auto& m) { return std::tie(m.operation, m.waits_for, m.what); }
};

// It fails or aborts.
struct GiveUp {
  static constexpr Kind kKind = Kind::give_up;
  heddleResult_t code = heddleSuccess;
  std::string text;
  static auto fields(auto& m) { return std::tie(m.code, m.text); }
};

// It destroys the communicator.
struct Leave {
  static constexpr Kind kKind = Kind::leave;
  std::uint64_t started = 0;  // operations
  static auto fields(auto& m) { return std::tie(m.started); }
};

// HEDDLE_CHECK: what it calls.
struct Calls {
  static constexpr Kind kKind = Kind::calls;
  std::uint64_t operation = 0;
  std::string lines;
  static auto fields(auto& m) { return std::tie(m.operation, m.lines); }
};

// ---- from the root ------------------------------------------------------------------------------

struct Challenge {
  static constexpr Kind kKind = Kind::challenge;
  std::uint32_t version = kProtocolVersion;  // stays first, whatever the version
  std::string nonce;
  std::string proof;  // over both nonces, the rank's first
  std::string host;
  std::uint32_t pid = 0;
  static auto fields(auto& m) { return std::tie(m.version, m.nonce, m.proof, m.host, m.pid); }
};

struct Table {
  static constexpr Kind kKind = Kind::table;
  std::vector<std::string> texts;  // by rank
  static auto fields(auto& m) { return std::tie(m.texts); }
};

// The answer to a heartbeat.
struct Alive {
  static constexpr Kind kKind = Kind::heartbeat;
  static auto fields(auto&) { return std::tuple<>(); }
};

// What has ended the communicator.
struct Failure {
  static constexpr Kind kKind = Kind::failure;
  std::int32_t rank = -1;  // at fault; -1 when unknown
  heddleResult_t code = heddleSuccess;
  std::string text;
  static auto fields(auto& m) { return std::tie(m.rank, m.code, m.text); }
};

// Every rank has said leave.
struct AllLeft {
  static constexpr Kind kKind = Kind::all_left;
  static auto fields(auto&) { return std::tuple<>(); }
};

// HEDDLE_CHECK: every rank calls the operation alike.
struct Agreed {
  static constexpr Kind kKind = Kind::agreed;
  std::uint64_t operation = 0;
  static auto fields(auto& m) { return std::tie(m.operation); }
};

// ---- as bytes -----------------------------------------------------------------------------------

template <typename M>
concept ControlMessage = requires {
  M::kKind;
};

template <ControlMessage M>
std::string encode(const M& message) {
  Writer writer;
  std::apply([&](const auto&... field) { (writer.add(field), ...); }, M::fields(message));
  return writer.str();
}

// Fails with heddleRemoteError when the payload is not of that form, to the byte.
template <ControlMessage M>
M decode(std::string_view payload) {
  M message;
  Reader reader(payload);
  std::apply([&](auto&... field) { (reader.get(field), ...); }, M::fields(message));
  reader.finish();
  return message;
}

}  // namespace heddle::communicator
