// What shall go wrong, and when: the file of HEDDLE_EMULATED_EFA_SCRIPT, a line each. Its grammar
// is in docs/emulated_efa.md. Parsing is strict: a line that is not understood is an error that
// names file, line, the value and what is allowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emulated_efa {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

// The text says what is wrong with the environment or the script.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr int kMaxAdapters = 32;

// When a fault begins and ends. Times count from the opening of the adapter's domain, operations
// are those that the adapter has accepted.
struct When {
  std::optional<Nanoseconds> at;
  std::optional<std::uint64_t> after;    // this many operations go well
  std::optional<Nanoseconds> lasting;    // none: for ever
  std::optional<std::uint64_t> for_ops;  // `error` and `again`: operations it meets
};

enum class Fault {
  bandwidth,  // bytes a second each way
  delay,      // every packet arrives so much later
  again,      // posts get -FI_EAGAIN
  error,      // operations complete with an error
  dead,       // the adapter's operations fail, and nothing reaches it
  hang,       // nothing moves and nothing fails here: peers see an unresponsive one
};

struct Rule {
  Fault fault;
  std::uint32_t adapters;  // one bit each
  int line;
  double rate = 0;
  Nanoseconds time{};
  When when;
  std::uint64_t every = 0;  // again: so many posts between storms
  int code = 13;            // error: EFA's, see errors.hpp
  bool landed = false;      // error: the data arrives all the same
};

struct Script {
  std::vector<Rule> rules;
  std::uint32_t shuffle_window = 8;                               // packets that change places
  Nanoseconds shuffle_hold = std::chrono::microseconds(20);       // the longest wait for company
  std::optional<Nanoseconds> patience = std::chrono::seconds(5);  // none: a silent peer is no error
  std::uint64_t memlock =
      std::numeric_limits<std::uint64_t>::max();  // bytes that may be registered
  bool rnr_error = false;  // a send without a posted receive fails; else it waits
};

// `rank`: this process's, for lines that name one; none when nobody said. `name` is for errors.
// Throws ConfigError.
Script parse_script(std::string_view text, std::string_view name, std::optional<int> rank);

}  // namespace emulated_efa
