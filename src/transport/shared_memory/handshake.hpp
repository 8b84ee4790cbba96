// What the two processes say to each other before they share memory, and how each proves that it
// belongs to the communicator.
//
//   receiver -> sender    Challenge   a nonce
//   sender -> receiver    Hello       the pipe, its geometry, a nonce, proof over both nonces
//   receiver -> sender    Answer      go on, with proof over both nonces; or why not
//   sender -> receiver    one byte    with the ring's memfd
//   receiver -> sender    Answer      the ring is accepted; or why not
//
// Then both close the socket. Both are on one machine and run one version: the structs travel as
// they lie in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "transport/pipe.hpp"

namespace heddle::transport {

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;

inline constexpr std::uint64_t kHandshakeMagic = 0x316d687365646568;  // "hedeshm1"
inline constexpr std::uint32_t kHandshakeVersion = 1;

struct Challenge {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t unused;
  Nonce nonce;
};
static_assert(sizeof(Challenge) == 48);

struct Hello {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t from;
  std::int32_t to;
  std::int32_t channel;
  std::uint32_t slots;
  std::uint32_t unused;
  std::uint64_t slot_bytes;
  CommunicatorId communicator;
  Nonce nonce;
  Proof proof;
};
static_assert(sizeof(Hello) == 120);

struct Answer {
  std::uint32_t accepted;
  char reason[220];  // zero-terminated; empty when accepted
  Proof proof;
};
static_assert(sizeof(Answer) == 256);

// What a proof is about: the same words at another point of the exchange prove nothing.
enum class Step : std::uint8_t { hello = 1, welcome = 2, ready = 3 };

Challenge new_challenge();
Hello new_hello(const PipeKey& key, const PipeOptions& options, const Challenge& challenge,
                const PipeSecret& secret);
Answer new_answer(Step step, std::string_view refusal, const Challenge& challenge,
                  const Hello& hello, const PipeSecret& secret);

bool proves(const Hello& hello, const Challenge& challenge, const PipeSecret& secret);
bool proves(const Answer& answer, Step step, const Challenge& challenge, const Hello& hello,
            const PipeSecret& secret);

PipeKey key_of(const Hello& hello);
PipeOptions options_of(const Hello& hello);

}  // namespace heddle::transport
