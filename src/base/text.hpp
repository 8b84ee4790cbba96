// Numbers and bytes as text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
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
template <std::integral Count>
std::string counted(Count count, std::string_view what) {
  return counted(static_cast<std::size_t>(count), what);
}

// "a, b, c", with `last` before the last one; of more than `most` words the first: "a, b and 2
// more".
std::string listed(std::span<const std::string> words, std::size_t most,
                   std::string_view last = ", ");
// The same of numbers.
std::string listed(std::span<const int> numbers, std::size_t most);
// Numbers that rise, as ranges: "0-3,8" with a comma for `separator`.
std::string ranges_text(std::span<const int> numbers, std::string_view separator);

// "8 B", "64 KiB", "1.5 MiB": to four digits, in powers of 1024.
std::string bytes_text(std::size_t bytes);

// Whether a blank, a tab or another character of white space is in it.
bool has_space(std::string_view text);

// Lower case.
std::string to_hex(std::string_view bytes);
// Nothing when `hex` is no even number of hexadecimal digits.
std::optional<std::string> from_hex(std::string_view hex);

}  // namespace heddle::base
