// Parsing JSON that a person wrote: what is wrong is said by line and column, as compilers do.
#pragma once

#include <string>
#include <string_view>

#include "base/json_lines.hpp"

namespace heddle::base {

// `Json` is nlohmann's basic_json. Fails with heddleInvalidArgument: "name, line 3, column 5: not
// JSON: what is wrong".
template <typename Json>
Json parse_json(std::string_view text, const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    fail_json(text, name, error.byte == 0 ? 0 : error.byte - 1, error.what());
  } catch (const typename Json::exception& error) {  // of a number, which the parser quotes
    const std::string_view what = error.what();
    const auto quote = what.find('\'');
    const auto number = what.substr(quote + 1, what.rfind('\'') - quote - 1);
    fail_json(text, name, text.find(number), what);
  }
}

}  // namespace heddle::base
