#include "transport/fabric/rail_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"

namespace heddle::transport::fabric {

namespace {

std::string names_of(std::span<const Adapter> adapters) {
  std::string text;
  for (const Adapter& adapter : adapters) text += (text.empty() ? "" : ", ") + adapter.name;
  return text.empty() ? "none" : text;
}

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = i;
  return indices;
}

// A number of any size; 0 when the text is none.
std::size_t as_count(const std::string& text) {
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return 0;
  std::size_t count = std::numeric_limits<std::size_t>::max();
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

}  // namespace

std::vector<std::size_t> choose_rails(const std::string& asked, std::span<const Adapter> adapters) {
  if (asked == "all") return first(adapters.size());
  if (const std::size_t count = as_count(asked); count > 0)
    return first(std::min(count, adapters.size()));
  std::vector<std::size_t> chosen;
  for (std::size_t from = 0; from <= asked.size();) {
    const std::size_t comma = std::min(asked.find(',', from), asked.size());
    const std::string name = asked.substr(from, comma - from);
    from = comma + 1;
    const auto place = std::ranges::find(adapters, name, &Adapter::name);
    if (name.empty() || place == adapters.end())
      base::fail(heddleInvalidArgument,
                 "HEDDLE_RAILS={}: there is no adapter \"{}\"; the adapters here are {}; allowed "
                 "is all, a number from 1, or names",
                 asked, name, names_of(adapters));
    chosen.push_back(static_cast<std::size_t>(place - adapters.begin()));
  }
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::string fewer_rails(const std::string& asked, std::size_t rails) {
  if (as_count(asked) <= rails) return {};
  return fmt::format("HEDDLE_RAILS={}: this process has {} that it may use, and uses {}", asked,
                     base::counted(rails, "adapter"), rails == 1 ? "that one" : "them all");
}

}  // namespace heddle::transport::fabric
