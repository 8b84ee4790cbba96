#include "communicator/secret.hpp"

#include <sodium.h>

#include "base/error.hpp"

namespace heddle::communicator {
namespace {

void start_sodium() {
  static const bool started = sodium_init() >= 0;
  if (!started) base::fail(heddleSystemError, "libsodium could not start: no random numbers");
}

}  // namespace

Secret random_secret() {
  start_sodium();
  Secret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

Secret secret_from_text(std::string_view text) {
  start_sodium();
  Secret secret;
  crypto_generichash(secret.data(), secret.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return secret;
}

std::string proof(const Secret& secret, std::string_view label, std::string_view message) {
  start_sodium();
  const std::string input = std::string(label) + '\0' + std::string(message);
  std::string out(32, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                     reinterpret_cast<const unsigned char*>(input.data()), input.size(),
                     secret.data(), secret.size());
  return out;
}

bool same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::string_view bytes) {
  std::string hex(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                 bytes.size());
  hex.pop_back();
  return hex;
}

bool from_hex(std::string_view hex, std::uint8_t* bytes, std::size_t size) {
  std::size_t written = 0;
  return hex.size() == 2 * size &&
         sodium_hex2bin(bytes, size, hex.data(), hex.size(), nullptr, &written, nullptr) == 0 &&
         written == size;
}

}  // namespace heddle::communicator
