// What NCCL expects of a tuner plugin, in our own words: NCCL's headers that programs are built
// with do not declare it. A library has a struct for each version of the interface; NCCL looks up
// the newest that it knows and takes the first that is there:
//
//   NCCL         looks for, in this order
//   2.21         v2
//   2.22, 2.23   v3, v2
//   2.24 - 2.27  v4 .. v2
//   2.28, 2.29   v5 .. v2
//   2.30         v6 .. v2
//
// An error from any of the functions goes on to whoever called NCCL, up to 2.30 at least: NCCL's
// headers promise that it would do without the plugin, its sources do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace heddle::nccl_tuner::abi {

// C enums over there, which are an int here: numbers that are not listed arrive too.
enum class Result : int { success = 0 };
enum class Function : int {
  broadcast = 0,
  reduce = 1,
  all_gather = 2,
  reduce_scatter = 3,
  all_reduce = 4,
};
inline constexpr int kFunctions = 5;

// Rows and columns of a table of costs. Versions differ in how many rows they pass.
inline constexpr int kTree = 0, kRing = 1, kPat = 6, kAlgorithms = 7;
inline constexpr int kLl = 0, kLl128 = 1, kSimple = 2, kProtocols = 3;
// What `algorithm` and `protocol` of v2 hold until somebody chooses.
inline constexpr int kUndefined = -1;

inline constexpr int kLogWarn = 2, kLogInfo = 3;
inline constexpr unsigned long kInit = 0x1, kTuning = 0x40;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// Of v5 and v6; only ever passed on, and changed by nobody here. The first is the number of nodes
// and the ranks that the smallest and the largest have, the second what NCCL's own costs are made
// from.
struct NvlinkDomains;
struct Constants;

// `bytes` everywhere: the larger of a rank's send and receive buffer.
//
// A table is declared as float** but is the first of algorithms x protocols floats in one piece:
// microseconds, -1 where NCCL cannot, or may not, run the pair. NCCL runs the smallest. To 2.28 at
// least it passes over what is negative; newer versions compare even -1 if the tuner wrote it, and
// up to 2.28 nothing from 3.6e9 on is ever run.
//
// `channels` is 0 when it arrives, and then stays NCCL's own business.

struct TunerV2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*collective)(void* context, Function function, std::size_t bytes, int collnet, int nvls,
                       int operations, int* algorithm, int* protocol, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*collective)(void* context, Function function, std::size_t bytes, int operations,
                       float** table, int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*collective)(void* context, Function function, std::size_t bytes, int operations,
                       float** table, int algorithms, int protocols, int registered, int* channels);
  Result (*destroy)(void* context);
};

struct TunerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger log, NvlinkDomains* domains, Constants* constants);
  Result (*collective)(void* context, Function function, std::size_t bytes, int operations,
                       float** table, int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
};

struct TunerV6 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger log, NvlinkDomains* domains, Constants* constants);
  Result (*collective)(void* context, Function function, std::size_t bytes, int operations,
                       float** table, int algorithms, int protocols, int registered, int* channels);
  Result (*finalize)(void* context);
  // May be null: the size of a chunk stays NCCL's.
  Result (*chunk_size)(void* context, Function function, std::size_t bytes, int algorithm,
                       int protocol, int channels, std::size_t* chunk_bytes);
};

template <typename Tuner>
constexpr bool is_laid_out(std::size_t bytes) {
  return std::is_standard_layout_v<Tuner> && sizeof(Tuner) == bytes && offsetof(Tuner, name) == 0 &&
         offsetof(Tuner, init) == 8 && offsetof(Tuner, collective) == 16;
}
static_assert(sizeof(Result) == 4 && sizeof(Function) == 4 && sizeof(void*) == 8);
static_assert(is_laid_out<TunerV2>(32) && offsetof(TunerV2, destroy) == 24);
static_assert(is_laid_out<TunerV3>(32) && offsetof(TunerV3, destroy) == 24);
static_assert(is_laid_out<TunerV4>(32) && offsetof(TunerV4, destroy) == 24);
static_assert(is_laid_out<TunerV5>(32) && offsetof(TunerV5, finalize) == 24);
static_assert(is_laid_out<TunerV6>(40) && offsetof(TunerV6, finalize) == 24 &&
              offsetof(TunerV6, chunk_size) == 32);

}  // namespace heddle::nccl_tuner::abi
