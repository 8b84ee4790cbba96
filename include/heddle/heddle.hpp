// Heddle for C++20: owners and types over heddle.h, header-only, so that only the C API crosses the
// library's boundary. A call that fails throws heddle::Error with the library's sentence. Buffers
// are contiguous ranges (std::vector, std::span, std::array, HostBuffer); their element type and
// size give the operation's. Operations of one communicator run in the order of the calls. Threads
// may share a communicator as heddle.h says.
#pragma once

#include <cstddef>
#include <ranges>
#include <string>

#include "heddle/element.hpp"
#include "heddle/group.hpp"
#include "heddle/handles.hpp"
#include "heddle/heddle.h"
#include "heddle/range_operations.hpp"
#include "heddle/registration.hpp"

namespace heddle {

struct Options {
  // "NAME=value NAME=value": settings of docs/settings.md; they win over the environment.
  std::string settings;
};

// This process's membership, as one rank, in a group of ranks. Its operations, by ranges and by
// pointers, are those of range_operations.hpp and operations.hpp; group.hpp groups them. The
// destructor leaves (and waits for this rank's operations); it never throws.
class Communicator : public RangeOperations {
 public:
  // Joins the world that the launcher describes (docs/bootstrap.md), or a world of one. Blocks and
  // throws as heddleCommInitFromEnvironment does.
  static Communicator from_environment(const Options& options = {}) {
    const heddleConfig_t config = config_of(options);
    heddleComm_t comm = nullptr;
    detail::check(heddleCommInitFromEnvironment(&comm, &config));
    return Communicator(comm);
  }
  // Joins as rank `rank` of `ranks`. Blocks until all have joined; throws as heddleCommInitRank
  // does: heddleInvalidArgument, heddleInvalidUsage, heddleTimeout, heddleRemoteError,
  // heddleSystemError.
  static Communicator from_unique_id(const UniqueId& id, int ranks, int rank,
                                     const Options& options = {}) {
    const heddleConfig_t config = config_of(options);
    heddleComm_t comm = nullptr;
    detail::check(heddleCommInitRankConfig(&comm, ranks, id.get(), rank, &config));
    return Communicator(comm);
  }
  // What carries the data, in one line for people: shared memory, or the provider and its rails.
  std::string network() const {
    const char* text = nullptr;
    detail::check(heddleCommGetNetwork(get(), &text));
    return text;
  }

  // `buffer` must stay where it is until the registration or the communicator ends.
  template <Output R>
  [[nodiscard]] Registration register_buffer(R&& buffer) {
    const std::size_t bytes = std::ranges::size(buffer) * sizeof(*std::ranges::data(buffer));
    return Registration(membership(), std::ranges::data(buffer), bytes);
  }

  // Waits for this rank's operations; no new ones are taken afterwards. Throws what ended the
  // communicator, if something has.
  void finalize() { detail::check(heddleCommFinalize(get())); }
  // Ends all operations, here and on the other ranks, within 2 s; a thread that waits in one gets
  // heddleAborted. Only the destructor may be called afterwards; works, registrations and ops may
  // end later.
  void abort() { detail::check(heddleCommAbort(release())); }

 private:
  explicit Communicator(heddleComm_t comm) : RangeOperations(comm) {}
  static heddleConfig_t config_of(const Options& options) {
    heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
    config.settings = options.settings.empty() ? nullptr : options.settings.c_str();
    return config;
  }
};

}  // namespace heddle
