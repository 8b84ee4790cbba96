// Catch2 2.x and 3.x under one name, and as 2.x spells things.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <concepts>
#include <string>

// In 3.x Contains asks a range for an element; this takes back what 2.x means by it for text.
namespace Catch::Matchers {
template <std::convertible_to<std::string> Text>
StringContainsMatcher Contains(Text&& text) {
  return ContainsSubstring(std::string(text));
}
}  // namespace Catch::Matchers
namespace Catch {
using Matchers::Contains;
}
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
