#include "communicator/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "communicator/lines.hpp"

namespace heddle::communicator {
namespace {

// More than so many ranks are counted.
constexpr std::size_t kMostListed = 8;
constexpr std::size_t kMostNamed = 3;

// The counts that all ranks give alike in the forms with blocks of different lengths.
const std::vector<executor::Block>* common_blocks(const Call& call) {
  switch (call.collective) {
    case base::Collective::all_gather: return &call.blocks->outputs;
    case base::Collective::reduce_scatter: return &call.blocks->inputs;
    default: return nullptr;
  }
}

}  // namespace

std::string lines_to_agree(const Operation& operation) {
  const Call& call = operation.call;
  if (call.kind == Call::Kind::barrier)
    return fmt::format("barrier\nnumber {}\n", operation.number);
  std::string lines =
      fmt::format("{}{}\n", base::name_of(call.collective), call.blocks ? "-v" : "");
  if (!call.blocks) {
    lines += fmt::format("count {}\n", call.buffers.count);
  } else if (const auto* blocks = common_blocks(call)) {
    for (std::size_t rank = 0; rank < blocks->size(); ++rank)
      lines += fmt::format("count {} for rank {}\n", (*blocks)[rank].count, rank);
  }
  lines += fmt::format("type {}\n", base::name_of(call.buffers.type));
  if (base::reduces(call.collective))
    lines += fmt::format("reduction {}{}\n", call.scaled ? "pre-scaled " : "",
                         base::name_of(call.buffers.op));
  if (base::has_root(call.collective)) lines += fmt::format("root {}\n", call.root);
  return lines + fmt::format("number {}\n", operation.number);
}

void Agreement::add(int rank, const std::string& name, std::uint64_t number, std::string lines) {
  if (ranks_++ == 0) {
    number_ = number;
    since_ = base::Clock::now();
  }
  auto version = std::find_if(versions_.begin(), versions_.end(),
                              [&](const Version& known) { return known.lines == lines; });
  if (version == versions_.end())
    version = versions_.insert(version, Version{std::move(lines), {}});
  version->callers.push_back({rank, name});
}

std::size_t Agreement::first_difference() const {
  const auto first = lines_of(versions_.front().lines);
  std::size_t least = first.size();
  for (const Version& version : versions_) {
    const auto lines = lines_of(version.lines);
    std::size_t same = 0;
    while (same < std::min(least, lines.size()) && lines[same] == first[same]) ++same;
    if (&version != &versions_.front()) least = same;
  }
  return least;
}

std::vector<Agreement::Side> Agreement::sides(std::size_t index) const {
  std::vector<Side> sides;
  for (const Version& version : versions_) {
    const std::string line(lines_of(version.lines)[index]);
    auto side = std::find_if(sides.begin(), sides.end(),
                             [&](const Side& known) { return known.line == line; });
    if (side == sides.end()) side = sides.insert(side, Side{line, {}});
    side->callers.insert(side->callers.end(), version.callers.begin(), version.callers.end());
  }
  const auto by_rank = [](const Caller& a, const Caller& b) { return a.rank < b.rank; };
  for (Side& side : sides) std::sort(side.callers.begin(), side.callers.end(), by_rank);
  // Of sides as large as each other, the one with the lowest rank is not the odd one.
  std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    return a.callers.size() != b.callers.size() ? a.callers.size() > b.callers.size()
                                                : a.callers.front().rank < b.callers.front().rank;
  });
  return sides;
}

Agreement::Difference Agreement::difference() const {
  const std::size_t index = first_difference();
  std::vector<Side> all = sides(index);
  const Side odd = std::move(all.back());
  all.pop_back();
  const auto who = [&](const Side& side) {
    // Where one side is as good as the other, both are named in full.
    const bool named = &side == &odd || side.callers.size() == odd.callers.size();
    std::vector<std::string> words;
    for (const Caller& caller : side.callers)
      words.push_back(named ? caller.name : std::to_string(caller.rank));
    return (named ? "" : "rank ") + base::listed(words, named ? kMostNamed : kMostListed, " and ");
  };
  const auto verb = [](const Side& side) { return side.callers.size() == 1 ? "calls" : "call"; };
  const std::string name(lines_of(versions_.front().lines).front());
  const bool other_call = index == 0;
  std::string text =
      other_call ? fmt::format("{} {} {} where", who(odd), verb(odd), odd.line)
                 : fmt::format("{} {} {} with {} where", who(odd), verb(odd), name, odd.line);
  for (const Side& side : all)
    text += fmt::format("{} {} {} {}{}", &side == &all.front() ? "" : ",", who(side), verb(side),
                        other_call ? "" : "it with ", side.line);
  return {odd.callers.front().rank,
          text + (other_call ? ": another collective, or another order of calls" : "") +
              fmt::format(" (operation #{})", number_)};
}

void Agreement::clear() {
  versions_.clear();
  ranks_ = 0;
}

}  // namespace heddle::communicator
