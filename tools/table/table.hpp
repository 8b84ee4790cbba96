// The table of the benchmarks and of heddle-sim, in nccl-tests' columns, so that what parses one
// parses all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::table {

// Two decimals if they fit the width, else one, else none, else an exponent.
std::string number(double value, int width);

// The three lines over the rows: titles of the halves, names, units. `time` names what is timed, in
// up to 7 characters.
std::string header(std::string_view halves, std::string_view time);
inline constexpr std::string_view kHalves =
    "           out-of-place                       in-place          ";
inline constexpr std::string_view kSimulatedHalves =
    "     out-of-place (simulated)           in-place (simulated)    ";

// What a row says of the operation.
struct Cells {
  std::size_t bytes, count;
  std::string_view type, op;
  int root;  // -1: none
};
struct Half {
  double seconds, algbw, busbw;  // GB/s
  std::optional<double> wrong;   // nothing: unchecked
};
// Without an end of line. A half that is not there is N/A.
std::string row(const Cells& cells, const std::optional<Half>& out_of_place,
                const std::optional<Half>& in_place);

}  // namespace heddle::table
