#include "base/hash.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace heddle::base {
namespace {

void start_sodium() {
  static const bool started = sodium_init() >= 0;
  if (!started) fail(heddleSystemError, "libsodium could not start: no random numbers");
}

}  // namespace

Hasher::Hasher(std::span<const std::uint8_t> key) {
  start_sodium();
  crypto_generichash_init(&state_, key.data(), key.size(), sizeof(Hash));
}

Hasher& Hasher::add(const void* data, std::size_t bytes) {
  crypto_generichash_update(&state_, static_cast<const unsigned char*>(data), bytes);
  return *this;
}

Hash Hasher::finish() {
  Hash hash;
  crypto_generichash_final(&state_, hash.data(), hash.size());
  return hash;
}

bool same(const Hash& a, const Hash& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

void fill_random(void* to, std::size_t bytes) {
  start_sodium();
  randombytes_buf(to, bytes);
}

std::uint64_t short_hash(std::string_view text) {
  const Hash hash = Hasher().add(text).finish();
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | hash[i];
  return number;
}

std::string digest(std::string_view text) { return fmt::format("{:016x}", short_hash(text)); }

}  // namespace heddle::base
