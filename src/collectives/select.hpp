// Which algorithm an operation runs, and on how many channels: the first row of a table that fits
// and whose algorithm can do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectives/schedule.hpp"

namespace heddle::collectives {

// What the ranks have between them.
enum class Reach : std::uint8_t {
  local,   // all on one host, by shared memory
  fabric,  // at least one pair over the network
};

// Whom a row is for.
enum class Place : std::uint8_t {
  one_host,
  several_hosts,
  even_hosts,     // several, each with the same number of ranks, two or more
  several_rails,  // several hosts, every process with several rails
};
std::string_view name_of(Place place);  // "one host", "even hosts"

struct SelectionRow {
  base::Collective collective;
  Place place;
  int min_ranks;
  int max_ranks;
  std::size_t up_to_bytes;  // inclusive
  std::string_view algorithm;
  int channels;
  // Over several rails as many channels as those, up to kMostRailChannels: then no rail idles while
  // one channel waits for the last stripe of a message or adds it.
  bool channel_per_rail = false;
};
inline constexpr int kMostRailChannels = 4;

// Every request with at least one rank fits a row.
std::span<const SelectionRow> selection_table();
// The table, a row a line, for people.
std::string selection_text();

struct SelectionRequest {
  base::Collective collective;
  std::size_t bytes;  // the larger of a rank's send and receive buffer
  int ranks;
  Reach reach;
  std::string_view forced_algorithm = {};  // "" or "auto": by the table
  int forced_channels = 0;                 // 0: by the table
  int root = 0;                            // as in Shape, like the next
  int ranks_per_host = 0;
  int rails = 1;               // that every process has at least
  bool uneven = false;         // the blocks have different lengths
  std::size_t slot_bytes = 0;  // of a pipe, for the parts of a message; 0: enough for any

  Shape shape() const { return {collective, ranks, 1, root, ranks_per_host}; }
};

// Whether the algorithm can do such a call, and the most chunks of a message have room in a slot.
bool usable(const Algorithm& algorithm, const SelectionRequest& request);

struct Selection {
  const Algorithm* algorithm;
  int channels;
  // A sentence for the log: the row that fitted, what was forced, or why what was forced was not
  // taken.
  std::string why;
  // A forced algorithm cannot do the call, so that the table decided.
  bool force_refused = false;
};

// What a request forces of the algorithm.
struct Forced {
  const Algorithm* algorithm = nullptr;  // null: nothing, or what cannot do the call
  // "ring was asked for", or what it lacks; empty where nothing was asked for.
  std::string why = {};

  bool refused() const { return algorithm == nullptr && !why.empty(); }
};
// Fails with heddleInvalidArgument for a name that no algorithm has.
Forced forced_algorithm(const SelectionRequest& request);
// "; channels 3 as asked for", or nothing where the request forces none. Fails with
// heddleInvalidArgument for a number below 0.
std::string forced_channels_text(const SelectionRequest& request);

// Every rank must ask the same. A forced name that no algorithm has, or forced channels below 0,
// fail with heddleInvalidArgument.
Selection choose(const SelectionRequest& request);

}  // namespace heddle::collectives
