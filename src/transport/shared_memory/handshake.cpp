#include "transport/shared_memory/handshake.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/hash.hpp"

namespace heddle::transport {
namespace {

base::Hasher prover(Step step, const PipeSecret& secret) {
  base::Hasher hasher(secret);
  hasher.add(&step, sizeof step);
  return hasher;
}

Proof proof_of(const Hello& hello, const Challenge& challenge, const PipeSecret& secret) {
  return prover(Step::hello, secret)
      .add(&challenge, sizeof challenge)
      .add(&hello, offsetof(Hello, proof))
      .finish();
}

Proof proof_of(const Answer& answer, Step step, const Challenge& challenge, const Hello& hello,
               const PipeSecret& secret) {
  return prover(step, secret)
      .add(&challenge, sizeof challenge)
      .add(&hello, sizeof hello)
      .add(&answer, offsetof(Answer, proof))
      .finish();
}

Nonce new_nonce() {
  Nonce nonce;
  base::fill_random(nonce.data(), nonce.size());
  return nonce;
}

}  // namespace

Challenge new_challenge() { return {kHandshakeMagic, kHandshakeVersion, 0, new_nonce()}; }

Hello new_hello(const PipeKey& key, const PipeOptions& options, const Challenge& challenge,
                const PipeSecret& secret) {
  Hello hello = {};
  hello.magic = kHandshakeMagic;
  hello.version = kHandshakeVersion;
  hello.from = key.from;
  hello.to = key.to;
  hello.channel = key.channel;
  hello.slots = static_cast<std::uint32_t>(options.slots);
  hello.slot_bytes = options.slot_bytes;
  hello.communicator = key.communicator;
  hello.nonce = new_nonce();
  hello.proof = proof_of(hello, challenge, secret);
  return hello;
}

Answer new_answer(Step step, std::string_view refusal, const Challenge& challenge,
                  const Hello& hello, const PipeSecret& secret) {
  Answer answer = {};
  answer.accepted = refusal.empty() ? 1 : 0;
  std::memcpy(answer.reason, refusal.data(), std::min(refusal.size(), sizeof answer.reason - 1));
  answer.proof = proof_of(answer, step, challenge, hello, secret);
  return answer;
}

bool proves(const Hello& hello, const Challenge& challenge, const PipeSecret& secret) {
  return base::same(hello.proof, proof_of(hello, challenge, secret));
}

bool proves(const Answer& answer, Step step, const Challenge& challenge, const Hello& hello,
            const PipeSecret& secret) {
  return base::same(answer.proof, proof_of(answer, step, challenge, hello, secret));
}

PipeKey key_of(const Hello& hello) {
  return {hello.communicator, hello.from, hello.to, hello.channel};
}

PipeOptions options_of(const Hello& hello) {
  return {static_cast<int>(hello.slots), static_cast<std::size_t>(hello.slot_bytes)};
}

}  // namespace heddle::transport
