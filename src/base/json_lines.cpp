#include "base/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace heddle::base {
namespace {

constexpr int kDeepest = 64;

// Walks the text once; what it does not look at, a parser has found to be right before.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  JsonLines scan() {
    value("");
    return std::move(lines_);
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      step();
  }
  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    step();
    return true;
  }
  std::string string() {
    skip_space();
    const std::size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    ++at_;
    return std::string(text_.substr(start, end - start));
  }

  void value(const std::string& path) {
    if (++depth_ > kDeepest)
      fail(heddleInvalidArgument, "{}:{}: nested deeper than {}", name_, line_, kDeepest);
    inner_value(path);
    --depth_;
  }
  void inner_value(const std::string& path) {
    skip_space();
    if (!lines_.emplace(path, line_).second)
      fail(heddleInvalidArgument, "{}:{}: {} is there twice", name_, line_, path);
    if (at_ >= text_.size()) return;
    switch (text_[at_]) {
      case '{': object(path); break;
      case '[': array(path); break;
      case '"': string(); break;
      default:
        while (at_ < text_.size() &&
               std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
          ++at_;
    }
  }
  void object(const std::string& path) {
    step();
    while (!take('}')) {
      const std::string member = string();
      take(':');
      value(member_path(path, member));
      take(',');
    }
  }
  void array(const std::string& path) {
    step();
    for (int i = 0; !take(']'); ++i) {
      value(fmt::format("{}[{}]", path, i));
      take(',');
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  JsonLines lines_;
};

}  // namespace

JsonLines json_lines(std::string_view text, const std::string& name) {
  return Scanner(text, name).scan();
}

void fail_json(std::string_view text, const std::string& name, std::size_t offset,
               std::string_view thrown) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines_before = std::count(before.begin(), before.end(), '\n');
  const auto line_start = before.rfind('\n') + 1;  // 0 without a line before
  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
  std::string_view what = thrown;
  if (what.starts_with('[')) what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
  if (what.starts_with("parse error at"))
    what.remove_prefix(std::min(what.find(": ") + 2, what.size()));
  fail(heddleInvalidArgument, "{}, line {}, column {}: not JSON: {}", name, lines_before + 1,
       before.size() - line_start + 1, what);
}

std::string member_path(std::string_view path, std::string_view member) {
  return path.empty() ? std::string(member) : fmt::format("{}.{}", path, member);
}

}  // namespace heddle::base
