// A benchmark is a row: how many parts the buffers have, what goes in, what must come out, what the
// bandwidth is multiplied by, and what to run. A program is one such row and perf_main.
#pragma once

#include <cstddef>
#include <string_view>

#include "harness/pattern.hpp"
#include "harness/session.hpp"

namespace heddle::bench {

// nccl-tests' exit statuses.
inline constexpr int kInternalError = 1, kSystemError = 2, kLibraryError = 3, kTimedOut = 4,
                     kInvalidUsage = 6, kWrongData = 7;

// One measurement from the point of view of one rank.
struct Step {
  int rank, ranks;
  bool in_place;
  Call call;
};

struct Benchmark {
  std::string_view name;
  bool reduces;
  // Parts of `count` elements in the send and the receive buffer, of `ranks` ranks.
  int (*send_parts)(int ranks);
  int (*receive_parts)(int ranks);
  // Bus bandwidth over algorithm bandwidth.
  double (*factor)(int ranks);
  // Fills a send buffer; counts the wrong elements of a receive buffer.
  void (*fill)(const Pattern& pattern, const Step& step, void* send);
  std::size_t (*wrong)(const Pattern& pattern, const Step& step);
  void (*run)(Session& session, const Call& call);
};

inline int one_part(int) { return 1; }
inline int part_per_rank(int ranks) { return ranks; }

extern const Benchmark kAllReduce, kAllGather, kReduceScatter;

// The whole program: command line, launch, table. Returns the exit status.
int perf_main(const Benchmark& benchmark, int argc, char** argv);

}  // namespace heddle::bench
