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

// What a buffer holds: `count` elements, or as many for each rank.
enum class Parts { one, per_rank };
constexpr int number_of(Parts parts, int ranks) { return parts == Parts::one ? 1 : ranks; }

// One measurement from the point of view of one rank.
struct Step {
  int rank, ranks;
  bool in_place;
  Call call;
};

struct Benchmark {
  std::string_view name;
  bool reduces = false;
  bool rooted = false;
  bool in_place = true;       // whether there is such a form
  bool power_of_two = false;  // whether other numbers of ranks are refused
  bool names_op = false;      // nccl-tests prints an operation, which nothing uses
  Parts send = Parts::one, receive = Parts::one;
  // Bus bandwidth over algorithm bandwidth.
  double (*factor)(int ranks);
  // Bytes that the algorithm bandwidth counts, over those of the size column.
  double (*counted)(int ranks) = [](int) { return 1.0; };
  // Fills a send buffer; counts the wrong elements of a receive buffer, which held poison.
  void (*fill)(const Pattern& pattern, const Step& step, void* send);
  std::size_t (*wrong)(const Pattern& pattern, const Step& step);
  void (*run)(Session& session, const Step& step);
};

extern const Benchmark kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kGather,
    kScatter, kAllToAll, kSendReceive, kHypercube;

// The whole program: command line, launch, table. Returns the exit status.
int perf_main(const Benchmark& benchmark, int argc, char** argv);

}  // namespace heddle::bench
