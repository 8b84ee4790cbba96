#include "table/table.hpp"

#include <fmt/format.h>

namespace heddle::table {
namespace {

std::string half_text(const std::optional<Half>& half) {
  if (!half) return fmt::format("  {0:>7}  {0:>6}  {0:>6}    {0}", "N/A");
  std::string text = fmt::format("  {:>7}  {:>6}  {:>6}", number(half->seconds * 1e6, 7),
                                 number(half->algbw, 6), number(half->busbw, 6));
  // Unchecked is one column narrower, as in nccl-tests.
  text += half->wrong ? fmt::format("  {:>6g}", *half->wrong) : "    N/A";
  return text;
}

}  // namespace

std::string number(double value, int width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= static_cast<std::size_t>(width)) return text;
  }
  return fmt::format("{:{}.1e}", value, width);
}

std::string header(std::string_view halves, std::string_view time) {
  return fmt::format(
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}\n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
      "{:>6} \n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
      "{:>6} \n",
      "", "", "", "", "", halves, "size", "count", "type", "redop", "root", time, "algbw", "busbw",
      "#wrong", time, "algbw", "busbw", "#wrong", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
      "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

std::string row(const Cells& cells, const std::optional<Half>& out_of_place,
                const std::optional<Half>& in_place) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}", cells.bytes, cells.count,
                     cells.type, cells.op, cells.root, half_text(out_of_place),
                     half_text(in_place));
}

}  // namespace heddle::table
