// What the peer benchmarks share: nccl-tests' accounting for float sums in host memory, so that the
// libraries differ in nothing but the library.
//   size   bytes of the larger of the send and the receive buffer of one rank
//   algbw  size / time (1 GB = 1e9 B);  busbw  algbw * factor
// A row: one checked call, warm-up, a barrier, then iterations back to back for about `budget`
// seconds with no barrier in between; time = maximum over ranks of elapsed / iterations.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace heddle::bench::peers {

struct Options {
  std::size_t min_bytes = 8, max_bytes = 256u << 20, factor = 8;
  double budget = 0.2;  // seconds of timed loop for a row
  int min_iterations = 3, max_iterations = 20000;
  std::string op = "allreduce";
};

// "8", "64K", "1.5M", "2G"; ends the program when it is none. On its own: other compilers' wrappers
// build these programs, without the library.
inline std::size_t parse_size(const char* text) {
  char* end = nullptr;
  double value = std::strtod(text, &end);
  const char* const units = "KMG";
  const char* const unit = *end == '\0' ? nullptr : std::strchr(units, *end);
  if (unit != nullptr) value *= static_cast<double>(1ULL << (10 * (unit - units + 1)));
  if (end == text || *(unit != nullptr ? end + 1 : end) != '\0' ||
      !(value >= 0 && value <= 0x1p62)) {
    std::fprintf(stderr,
                 "%s: not a size; allowed: a number, with K, M or G for powers of 1024, up to "
                 "2^62\n",
                 text);
    std::exit(6);
  }
  return static_cast<std::size_t>(value);
}

// Reads `-b 8 -e 256M -f 8 -t SECONDS -i LEAST --op NAME`; true when argument `i` was one of them.
inline bool parse_common(Options& options, int& i, int argc, char** argv) {
  const std::string name = argv[i];
  const auto value = [&]() -> const char* {
    if (i + 1 >= argc) {
      std::fprintf(stderr, "%s needs a value\n", name.c_str());
      std::exit(6);
    }
    return argv[++i];
  };
  if (name == "-b")
    options.min_bytes = parse_size(value());
  else if (name == "-e")
    options.max_bytes = parse_size(value());
  else if (name == "-f")
    options.factor = std::max<std::size_t>(2, parse_size(value()));
  else if (name == "-t")
    options.budget = std::atof(value());
  else if (name == "-i")
    options.min_iterations = std::atoi(value());
  else if (name == "--op")
    options.op = value();
  else
    return false;
  return true;
}

// What a library supplies. Operations work on `count` floats:
//   allreduce: send[count] -> receive[count]
//   allgather: send[count / ranks] -> receive[count]
//   reduce_scatter: send[count] -> receive[count / ranks]
class Backend {
 public:
  virtual ~Backend() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  virtual void from_rank0(void* data, std::size_t bytes) = 0;
  virtual double max_of_all(double value) = 0;
  virtual std::string name() const = 0;
  // One call of `op`, ready to repeat; empty when the library has no such operation.
  virtual std::function<void()> prepare(const std::string& op, float* send, float* receive,
                                        std::size_t count) = 0;
  // Where a call leaves its result: some old interfaces know only in place.
  virtual float* result(const std::string&, float*, float* receive) { return receive; }
};

// Touched, page by page of 4 KiB: huge pages would hide what the peers' own copies cost them less
// than ours, or more, from run to run.
inline float* touched_floats(std::size_t bytes) {
  constexpr std::size_t kAlign = 2u << 20;
  const std::size_t size = (std::max<std::size_t>(bytes, 64) + kAlign - 1) / kAlign * kAlign;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlign, size) != 0) {
    std::perror("posix_memalign");
    std::exit(1);
  }
  madvise(memory, size, MADV_NOHUGEPAGE);
  std::memset(memory, 0, size);
  return static_cast<float*>(memory);
}

inline bool is_all_reduce(const std::string& op) { return op.rfind("allreduce", 0) == 0; }

inline double factor_of(const std::string& op, int ranks) {
  return (is_all_reduce(op) ? 2.0 : 1.0) * (ranks - 1) / ranks;
}

inline float value_at(std::size_t i) { return static_cast<float>(i % 7 + 1); }

inline void fill(const std::string& op, float* send, float* receive, std::size_t count, int rank,
                 int ranks) {
  const std::size_t sent = op == "allgather" ? count / static_cast<std::size_t>(ranks) : count;
  std::fill(receive, receive + count, -1.0f);
  for (std::size_t i = 0; i < sent; ++i) send[i] = static_cast<float>(rank + 1) * value_at(i);
}

inline std::size_t wrong_in(const std::string& op, const float* got, std::size_t count, int rank,
                            int ranks) {
  const std::size_t part = count / static_cast<std::size_t>(ranks);
  const float sum = static_cast<float>(ranks * (ranks + 1) / 2);
  std::size_t wrong = 0;
  if (is_all_reduce(op)) {
    for (std::size_t i = 0; i < count; ++i) wrong += got[i] != sum * value_at(i);
  } else if (op == "reduce_scatter") {
    const std::size_t first = static_cast<std::size_t>(rank) * part;
    for (std::size_t i = 0; i < part; ++i) wrong += got[i] != sum * value_at(first + i);
  } else {
    for (std::size_t i = 0; i < part * static_cast<std::size_t>(ranks); ++i)
      wrong += got[i] != static_cast<float>(i / part + 1) * value_at(i % part);
  }
  return wrong;
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double time_calls(Backend& backend, const std::function<void()>& call, int calls) {
  backend.barrier();
  const double start = now();
  for (int i = 0; i < calls; ++i) call();
  return backend.max_of_all((now() - start) / calls);
}

inline int iterations_for(double estimate, const Options& options) {
  return static_cast<int>(std::clamp(options.budget / estimate,
                                     static_cast<double>(options.min_iterations),
                                     static_cast<double>(options.max_iterations)));
}

// One row; false when the library has no such operation.
inline bool run_row(Backend& backend, const Options& options, float* send, float* receive,
                    std::size_t bytes) {
  const int ranks = backend.ranks();
  const auto parts = static_cast<std::size_t>(ranks);
  std::size_t count = std::max<std::size_t>(bytes / sizeof(float), 1);
  if (!is_all_reduce(options.op)) count = std::max<std::size_t>(count / parts, 1) * parts;
  const std::function<void()> call = backend.prepare(options.op, send, receive, count);
  if (!call) return false;
  fill(options.op, send, receive, count, backend.rank(), ranks);
  backend.barrier();
  call();
  const double wrong = backend.max_of_all(static_cast<double>(wrong_in(
      options.op, backend.result(options.op, send, receive), count, backend.rank(), ranks)));
  std::fill(send, send + count, 0.0f);  // interfaces that know only in place must not overflow
  call();
  int iterations = iterations_for(time_calls(backend, call, 1), options);
  if (iterations > 50) iterations = iterations_for(time_calls(backend, call, 30), options);
  backend.from_rank0(&iterations, sizeof iterations);
  const int warmup = std::clamp(iterations / 10, 1, 200);
  for (int i = 0; i < warmup; ++i) call();
  const double time = time_calls(backend, call, iterations);
  if (backend.rank() == 0) {
    const double size = static_cast<double>(count * sizeof(float)), algbw = size / time / 1e9;
    std::printf("%-22s %5d %12.0f %12.2f %10.4f %10.4f %7.0f %7d\n", options.op.c_str(), ranks,
                size, time * 1e6, algbw, algbw * factor_of(options.op, ranks), wrong, iterations);
    std::fflush(stdout);
  }
  return true;
}

inline void run(Backend& backend, const Options& options) {
  const std::size_t room = options.max_bytes + 64 * static_cast<std::size_t>(backend.ranks());
  float* send = touched_floats(room);
  float* receive = touched_floats(room);
  if (backend.rank() == 0)
    std::printf("# %s\n#%-21s %5s %12s %12s %10s %10s %7s %7s\n", backend.name().c_str(), "op",
                "ranks", "size(B)", "time(us)", "algbw", "busbw", "#wrong", "iters");
  for (std::size_t bytes = options.min_bytes;
       run_row(backend, options, send, receive, bytes) && bytes < options.max_bytes;)
    bytes = std::min(bytes * options.factor, options.max_bytes);
  std::free(send);
  std::free(receive);
}

}  // namespace heddle::bench::peers
