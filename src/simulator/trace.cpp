#include "simulator/trace.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace heddle::simulator {
namespace {

// Threads of a host: its ranks' channels, then its rails.
constexpr int kChannels = 1000;    // numbers for one rank's channels
constexpr int kRails = 100000000;  // the first rail's number

class Writer {
 public:
  explicit Writer(const std::string& title) : title_(title) {}

  void span(int host, int thread, const std::string& thread_name, const std::string& name,
            std::pair<Time, Time> when, const std::string& arguments) {
    if (hosts_.emplace(host, true).second)
      event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", host,
            quoted(fmt::format("host {} ({})", host, title_)));
    if (threads_.emplace(std::pair(host, thread), true).second) {
      event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", host,
            thread, quoted(thread_name));
      event(
          R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
          host, thread, thread);
    }
    const auto [begin, end] = when;
    event(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{:.6f},"dur":{:.6f},"args":{{{}}}}})",
          host, thread, quoted(name), static_cast<double>(begin) * 1e-6,
          static_cast<double>(end - begin) * 1e-6, arguments);
  }

  std::string take() {
    return fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"title\":{}}},"
        "\"traceEvents\":[\n{}\n]}}\n",
        quoted(title_), events_);
  }

 private:
  static std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

  template <typename... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    if (!events_.empty()) events_ += ",\n";
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }

  const std::string& title_;
  std::string events_;
  std::map<int, bool> hosts_;
  std::map<std::pair<int, int>, bool> threads_;
};

}  // namespace

std::string chrome_json(const Trace& trace, int ranks_per_host, const std::string& title) {
  Writer writer(title);
  for (const Trace::MoveSpan& span : trace.moves)
    writer.span(span.rank / ranks_per_host, span.rank * kChannels + span.channel,
                fmt::format("rank {} channel {}", span.rank, span.channel),
                fmt::format("move {} piece {}", span.move, span.piece), {span.begin, span.end},
                fmt::format(R"("round":{},"bytes":{})", span.round, span.bytes));
  for (const Trace::RailSpan& span : trace.rails)
    writer.span(span.host, kRails + 2 * span.adapter + (span.send ? 0 : 1),
                fmt::format("rail {} {}", span.adapter, span.send ? "sends" : "receives"),
                fmt::format("{} to {}", span.from, span.to), {span.begin, span.end},
                fmt::format(R"("channel":{},"bytes":{})", span.channel, span.bytes));
  return writer.take();
}

}  // namespace heddle::simulator
