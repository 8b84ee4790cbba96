// Numbers and bytes as text.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::base {

// The whole text as a number; false, and `value` as it was, when it is none that fits. `base` is
// for whole numbers.
template <typename Number>
bool parse_number(std::string_view text, Number& value, int base = 10) {
  Number parsed{};
  const char* const last = text.data() + text.size();
  std::from_chars_result result;
  if constexpr (std::is_floating_point_v<Number>)
    result = std::from_chars(text.data(), last, parsed);
  else
    result = std::from_chars(text.data(), last, parsed, base);
  const auto [end, error] = result;
  if (error != std::errc{} || end != last) return false;
  value = parsed;
  return true;
}

// "1 channel", "2 channels".
std::string counted(std::size_t count, std::string_view what);

// Whether a blank, a tab or another character of white space is in it.
bool has_space(std::string_view text);

// Lower case.
std::string to_hex(std::string_view bytes);
// Nothing when `hex` is no even number of hexadecimal digits.
std::optional<std::string> from_hex(std::string_view hex);

}  // namespace heddle::base
