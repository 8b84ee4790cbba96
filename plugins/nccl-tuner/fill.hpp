// Puts the model's word into NCCL's table of costs, or chooses where there is no table.
#pragma once

#include <cstddef>
#include <optional>

#include "nccl-tuner/abi.hpp"
#include "nccl-tuner/prices.hpp"

namespace heddle::nccl_tuner {

// What is to be run only where nothing else can be, in microseconds: NCCL looks at no cost from
// 3.6e9 on.
inline constexpr float kLast = 1e9F;

// A table of NCCL's (abi.hpp), row after row.
struct Table {
  float* costs;
  int algorithms;
  int protocols;
};

// Of the pairs that NCCL can run, all but those in Simple become the last resort. Those that the
// model prices then stand to each other as it says, the cheapest of them where NCCL had its
// cheapest. Nothing else is touched: not what the model cannot price (NVLS, CollNet), nor a table
// without Simple. Any thread; allocates nothing.
void fill(const Prices& prices, abi::Function function, std::size_t bytes, Table table) noexcept;

struct Choice {
  int algorithm;
  int protocol;
};
// For v2, which has no table: what the model says, in Simple; a ring where it says nothing. Any
// thread; allocates nothing.
std::optional<Choice> choose(const Prices& prices, abi::Function function,
                             std::size_t bytes) noexcept;

}  // namespace heddle::nccl_tuner
