// The secret that the ranks of one communicator share, and what is made from it: keyed hashes
// (libsodium's BLAKE2b). A connection is proved both ways: each side hashes both nonces, with a
// label that says which side it is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::communicator {

using Secret = std::array<std::uint8_t, 32>;

// Random bytes from the system. Fails with heddleSystemError when libsodium cannot start.
Secret random_secret();
// A secret from text, the same on every rank that has the same text.
Secret secret_from_text(std::string_view text);
// 32 bytes that only who holds `secret` can make.
std::string proof(const Secret& secret, std::string_view label, std::string_view message);
// In constant time.
bool same_proof(std::string_view a, std::string_view b);

inline std::string_view as_text(const std::array<std::uint8_t, 32>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace heddle::communicator
