#include "script.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace emulated_efa {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 5> kRates = {
    {{"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}}};
constexpr std::array<Unit, 3> kTimes = {{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

// One line, word by word. Every failure names the line.
class Line {
 public:
  Line(std::string_view text, std::string where) : where_(std::move(where)) {
    text = text.substr(0, text.find('#'));
    for (std::size_t at = 0;;) {
      at = text.find_first_not_of(" \t\r", at);
      if (at == std::string_view::npos) break;
      const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
      words_.push_back(text.substr(at, end - at));
      at = end;
    }
  }

  bool done() const { return next_ == words_.size(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}: {}", where_, what));
  }
  std::string_view word(std::string_view meaning) {
    if (done()) fail(fmt::format("{} is missing at the end", meaning));
    return words_[next_++];
  }
  // Takes the word when it is next.
  bool take(std::string_view expected) {
    if (done() || words_[next_] != expected) return false;
    ++next_;
    return true;
  }

  std::uint64_t count(std::string_view meaning, std::uint64_t least, std::uint64_t most) {
    const std::string_view text = word(meaning);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
      fail(fmt::format("{} '{}' is not a number from {} to {}", meaning, text, least, most));
    return value;
  }
  static constexpr std::uint64_t kMost = 1'000'000'000'000;

  Nanoseconds time() {
    const double value = with_unit("time", kTimes, "20us, 5ms or 1.5s");
    if (value > 1e9 * 1e6) fail("a time is at most 1000000s");
    return Nanoseconds(std::llround(value));
  }
  double rate() {
    const double value = with_unit("rate", kRates, "250MB/s or 2Gbit/s");
    if (value < 1e3) fail("a rate is at least 1KB/s");
    return value;
  }

  // all, or numbers with commas.
  std::uint32_t adapters() {
    const std::string_view text = word("adapters");
    if (text == "all") return ~std::uint32_t{0};
    std::uint32_t bits = 0;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      unsigned index = 0;
      const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, index);
      if (error != std::errc{} || stop != text.data() + end || index >= kMaxAdapters)
        fail(fmt::format("adapters '{}' are neither all nor numbers from 0 to {} with commas", text,
                         kMaxAdapters - 1));
      bits |= std::uint32_t{1} << index;
      at = end + 1;
    }
    return bits;
  }

  bool next_is_time() const {
    return !done() && words_[next_].find_first_of("us") != std::string_view::npos;
  }

 private:
  template <std::size_t N>
  double with_unit(std::string_view meaning, const std::array<Unit, N>& units,
                   std::string_view example) {
    const std::string_view text = word(meaning);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error == std::errc{} && std::isfinite(value) && value >= 0)
      for (const Unit& known : units)
        if (unit == known.name) return value * known.factor;
    fail(fmt::format("{} '{}' is none; write {}", meaning, text, example));
  }

  std::string where_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

void read_begin(Line& line, When& when) {
  if (line.take("at"))
    when.at = line.time();
  else if (line.take("after"))
    when.after = line.count("number of operations", 0, Line::kMost);
  else
    line.fail("at TIME or after OPERATIONS is needed here");
}

void read_again(Line& line, Rule& rule) {
  if (line.take("every")) {
    rule.every = line.count("number of posts", 1, Line::kMost);
    if (!line.take("for")) line.fail("again every N needs: for POSTS");
    rule.when.for_ops = line.count("number of posts", 1, Line::kMost);
    return;
  }
  read_begin(line, rule.when);
  if (!line.take("for")) line.fail("again needs an end: for TIME");
  rule.when.lasting = line.time();
}

void read_error(Line& line, Rule& rule) {
  if (!line.take("after")) line.fail("error needs: after OPERATIONS");
  rule.when.after = line.count("number of operations", 0, Line::kMost);
  if (line.take("for"))
    rule.when.for_ops = line.count("number of operations", 1, Line::kMost);
  else
    rule.when.for_ops = 1;
  if (line.take("code")) rule.code = static_cast<int>(line.count("code", 1, 15));
  rule.landed = line.take("landed");
}

void read_outage(Line& line, Rule& rule) {
  read_begin(line, rule.when);
  if (line.take("for")) rule.when.lasting = line.time();
}

// False: the line names no fault of adapters.
bool read_rule(Line& line, std::string_view verb, Rule& rule) {
  struct Known {
    std::string_view name;
    Fault fault;
  };
  static constexpr std::array<Known, 6> kKnown = {{{"bandwidth", Fault::bandwidth},
                                                   {"delay", Fault::delay},
                                                   {"again", Fault::again},
                                                   {"error", Fault::error},
                                                   {"dead", Fault::dead},
                                                   {"hang", Fault::hang}}};
  for (const Known& known : kKnown) {
    if (verb != known.name) continue;
    rule.fault = known.fault;
    rule.adapters = line.adapters();
    switch (known.fault) {
      case Fault::bandwidth: rule.rate = line.rate(); break;
      case Fault::delay: rule.time = line.time(); break;
      case Fault::again: read_again(line, rule); break;
      case Fault::error: read_error(line, rule); break;
      case Fault::dead:
      case Fault::hang: read_outage(line, rule); break;
    }
    return true;
  }
  return false;
}

// A line about the whole process.
void read_global(Line& line, std::string_view verb, Script& script) {
  if (verb == "shuffle") {
    if (!line.take("window")) line.fail("shuffle needs: window PACKETS hold TIME");
    script.shuffle_window = static_cast<std::uint32_t>(line.count("number of packets", 1, 64));
    if (!line.take("hold")) line.fail("shuffle window N needs: hold TIME");
    script.shuffle_hold = line.time();
  } else if (verb == "patience") {
    if (line.take("never"))
      script.patience.reset();
    else
      script.patience = line.time();
  } else if (verb == "memlock") {
    script.memlock = line.count("number of bytes", 0, Line::kMost);
  } else if (verb == "rnr") {
    script.rnr_error = line.take("error");
    if (!script.rnr_error && !line.take("wait")) line.fail("rnr is followed by error or wait");
  } else {
    line.fail(
        fmt::format("'{}' is unknown; known are bandwidth, delay, again, error, dead, hang, "
                    "shuffle, patience, memlock and rnr",
                    verb));
  }
}

}  // namespace

Script parse_script(std::string_view text, std::string_view name, std::optional<int> rank) {
  Script script;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), fmt::format("{}:{}", name, ++number));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.done()) continue;
    const std::string_view verb = line.word("verb");
    Rule rule{};
    rule.line = number;
    Script changed = script;
    if (read_rule(line, verb, rule))
      changed.rules.push_back(rule);
    else
      read_global(line, verb, changed);
    bool ours = true;
    if (line.take("rank")) ours = rank == static_cast<int>(line.count("rank", 0, 1'000'000));
    if (!line.done())
      line.fail(fmt::format("'{}' is more than '{}' takes", line.word("word"), verb));
    if (ours) script = std::move(changed);
  }
  return script;
}

}  // namespace emulated_efa
