// Catch2 2.x and 3.x under one name, and as 2.x spells things.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <cstddef>
#include <string>

// In 3.x Contains asks a range for an element; these take back what 2.x means by it for text.
namespace Catch::Matchers {
template <std::size_t N>
StringContainsMatcher Contains(const char (&text)[N]) {
  return ContainsSubstring(text);
}
inline StringContainsMatcher Contains(const std::string& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string&& text) { return ContainsSubstring(text); }
}  // namespace Catch::Matchers
namespace Catch {
using Matchers::Contains;
}
#else
#include <catch2/catch.hpp>
#endif
