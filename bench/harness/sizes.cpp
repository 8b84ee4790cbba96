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

std::vector<std::size_t> size_steps(std::size_t min, std::size_t max, std::size_t step,
                                    std::size_t factor) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = min; size <= max;) {
    sizes.push_back(size);
    const std::size_t next = factor > 1 ? size * factor : size + step;
    if (next <= size) break;  // 0 times a factor, or a step of 0
    size = next;
  }
  return sizes;
}

std::size_t part_count(std::size_t bytes, std::size_t element_bytes, std::size_t parts) {
  const std::size_t count = bytes / element_bytes;
  if (parts <= 1) return count;
  const std::size_t granule = 16 / element_bytes;
  return count / parts / granule * granule;
}

}  // namespace heddle::bench
