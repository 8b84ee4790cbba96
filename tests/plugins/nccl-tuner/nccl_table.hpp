// A table of costs as NCCL passes it, and what NCCL then runs.
#pragma once

#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include "nccl-tuner/abi.hpp"

namespace heddle::test {

namespace abi = nccl_tuner::abi;

using Pair = std::pair<int, int>;  // algorithm, protocol

class NcclTable {
 public:
  // Every pair is -1 but those that are put.
  explicit NcclTable(int algorithms = abi::kAlgorithms)
      : algorithms_(algorithms), costs_(cells(algorithms) + kGuard, -1.F) {
    for (std::size_t i = cells(algorithms); i < costs_.size(); ++i) costs_[i] = 12345.F;
  }

  NcclTable& put(Pair pair, float cost) { return at(pair) = cost, *this; }
  float& at(Pair pair) { return costs_[index(pair)]; }
  float at(Pair pair) const { return costs_[index(pair)]; }

  int algorithms() const { return algorithms_; }
  float* costs() { return costs_.data(); }
  float** as_declared() { return reinterpret_cast<float**>(costs_.data()); }

  // What lies behind the table in the caller's memory is as it was.
  bool is_guarded() const {
    for (std::size_t i = cells(algorithms_); i < costs_.size(); ++i)
      if (costs_[i] != 12345.F) return false;
    return true;
  }
  // NCCL 2.22 to 2.28: the smallest that is not negative, below an hour; {-1, -1} is an error.
  Pair run() const {
    float least = 3.6e9F;
    Pair best{-1, -1};
    for (int a = 0; a < algorithms_; ++a)
      for (int p = 0; p < abi::kProtocols; ++p)
        if (at({a, p}) >= 0 && at({a, p}) < least) least = at({a, p}), best = {a, p};
    return best;
  }

  bool operator==(const NcclTable&) const = default;

 private:
  static constexpr std::size_t kGuard = 8;
  static std::size_t cells(int algorithms) {
    return static_cast<std::size_t>(algorithms) * abi::kProtocols;
  }
  static std::size_t index(Pair pair) {
    return static_cast<std::size_t>(pair.first * abi::kProtocols + pair.second);
  }

  int algorithms_;
  std::vector<float> costs_;
};

inline constexpr Pair kTreeSimple{abi::kTree, abi::kSimple}, kRingSimple{abi::kRing, abi::kSimple},
    kTreeLl{abi::kTree, abi::kLl}, kRingLl{abi::kRing, abi::kLl},
    kRingLl128{abi::kRing, abi::kLl128}, kNvlsTree{5, abi::kSimple}, kPatSimple{6, abi::kSimple};

// Of an all-reduce between nodes; NCCL thinks LL best.
inline NcclTable all_reduce_table(int algorithms = abi::kAlgorithms) {
  return NcclTable(algorithms)
      .put(kTreeLl, 20)
      .put(kRingLl, 30)
      .put(kRingLl128, 35)
      .put(kTreeSimple, 60)
      .put(kRingSimple, 50);
}

}  // namespace heddle::test
