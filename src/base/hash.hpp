// Hashes (libsodium's BLAKE2b), keyed where they prove that a secret is known, and random bytes.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle::base {

using Hash = std::array<std::uint8_t, 32>;

class Hasher {
 public:
  // With a key, only who holds it can make the hash.
  explicit Hasher(std::span<const std::uint8_t> key = {});
  Hasher& add(const void* data, std::size_t bytes);
  Hasher& add(std::string_view text) { return add(text.data(), text.size()); }
  Hash finish();

 private:
  crypto_generichash_state state_;
};

// In constant time.
bool same(const Hash& a, const Hash& b);
// From the system. Fails with heddleSystemError when there is no source of randomness.
void fill_random(void* to, std::size_t bytes);
// A number that tells texts apart; no proof of anything.
std::uint64_t short_hash(std::string_view text);
// The same as 16 hexadecimal digits.
std::string digest(std::string_view text);

}  // namespace heddle::base
