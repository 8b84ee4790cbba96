#include "communicator/secret.hpp"

#include "base/hash.hpp"

namespace heddle::communicator {

Secret random_secret() {
  Secret secret;
  base::fill_random(secret.data(), secret.size());
  return secret;
}

Secret secret_from_text(std::string_view text) { return base::Hasher().add(text).finish(); }

std::string proof(const Secret& secret, std::string_view label, std::string_view message) {
  return std::string(as_text(base::Hasher(secret).add(label).add("", 1).add(message).finish()));
}

bool same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace heddle::communicator
