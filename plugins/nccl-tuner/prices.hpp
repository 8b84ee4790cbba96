// What the machine model says that NCCL's algorithms take between nodes, in Simple: Heddle's own
// price (src/tuner/) of Heddle's schedule of the same shape, for every size once, so that a look-up
// costs nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "nccl-tuner/abi.hpp"
#include "topology/machine.hpp"

namespace heddle::nccl_tuner {

// NCCL's node is a host.
struct World {
  int nodes;           // 2 or more
  int ranks_per_node;  // of the largest

  bool operator==(const World&) const = default;
};

class Prices {
 public:
  // Walks the schedules of all ranks: 0.1 s for thousands of them. Fails with
  // heddleInvalidArgument where this machine has no network.
  Prices(const topology::Machine& machine, World world);

  // Microseconds; negative where the model knows nothing of the algorithm, or it has no rival that
  // is priced. Any numbers may be asked for. Any thread; allocates nothing.
  double at(abi::Function function, int algorithm, std::size_t bytes) const noexcept;

  // "all-reduce by tree, from 64 MiB by ring; ...", for people.
  std::string text() const;

 private:
  static constexpr int kSizes = 42;  // powers of two; straight lines between and beyond
  using Curve = std::array<float, kSizes>;
  using Curves = std::array<std::unique_ptr<const Curve>, abi::kAlgorithms>;

  std::string text_of(abi::Function function) const;

  std::array<Curves, abi::kFunctions> curves_;
};

}  // namespace heddle::nccl_tuner
