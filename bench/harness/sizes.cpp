#include "harness/sizes.hpp"

#include <charconv>
#include <cmath>

namespace heddle::bench {

bool parse_bytes(std::string_view text, std::size_t& bytes) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0)) return false;
  if (rest != end) {
    if (rest + 1 != end) return false;
    switch (*rest) {
      case 'K':
      case 'k': value *= 0x1p10; break;
      case 'M':
      case 'm': value *= 0x1p20; break;
      case 'G':
      case 'g': value *= 0x1p30; break;
      default: return false;
    }
  }
  if (value > 0x1p62) return false;
  bytes = static_cast<std::size_t>(value);
  return true;
}

}  // namespace heddle::bench
