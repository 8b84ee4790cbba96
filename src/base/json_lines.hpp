// Where the values of a JSON text stand, so that messages about a value can name its line: JSON
// parsers forget it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace heddle::base {

// Lines, from 1, by path: "" is the whole text, "adapters.count" a member, "choices[2]" an element.
using JsonLines = std::map<std::string, int, std::less<>>;

// Requires valid JSON. Fails with heddleInvalidArgument, beginning with `name`, where an object has
// a member twice, which parsers otherwise settle silently.
JsonLines json_lines(std::string_view text, const std::string& name);

// For the offset of the byte where a parser stopped and what it threw: fails with
// heddleInvalidArgument, "name, line 3, column 5: not JSON: what is wrong".
[[noreturn]] void fail_json(std::string_view text, const std::string& name, std::size_t offset,
                            std::string_view thrown);

// "adapters" and "count" to "adapters.count".
std::string member_path(std::string_view path, std::string_view member);

}  // namespace heddle::base
