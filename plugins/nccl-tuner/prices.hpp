// What the machine model says that NCCL's algorithms take: Heddle's own price (src/tuner/) of
// Heddle's schedule of the same shape, for every size once, so that a look-up costs nothing.
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
  int nodes;
  int ranks_per_node;  // of the largest

  bool operator==(const World&) const = default;
};

class Prices {
 public:
  // Walks the schedules of all ranks: 0.1 s for thousands of them. Fails with
  // heddleInvalidArgument where several nodes have no network by this machine.
  Prices(const topology::Machine& machine, World world);

  // Microseconds; negative where nothing is known of the pair, or there is nothing to choose from.
  // Any number may be asked for. Any thread; allocates nothing.
  double at(abi::Function function, int algorithm, int protocol, std::size_t bytes) const noexcept;

  bool between_nodes() const noexcept { return between_nodes_; }
  // Whether nothing is priced: inside a node, by a machine that does not know NCCL's protocols.
  bool empty() const noexcept { return text_.empty(); }
  // "all-reduce by tree, from 64 MiB by ring; ...", for people.
  const std::string& text() const noexcept { return text_; }

 private:
  static constexpr int kSizes = 42;  // powers of two; straight lines between and beyond
  using Curve = std::array<float, kSizes>;
  using Curves =
      std::array<std::array<std::unique_ptr<const Curve>, abi::kProtocols>, abi::kAlgorithms>;

  std::string text_of(abi::Function function) const;

  std::array<Curves, abi::kFunctions> curves_;
  bool between_nodes_;
  std::string text_;
};

// What NCCL calls them: "ring", "LL128".
const char* name_of_algorithm(int algorithm);
const char* name_of_protocol(int protocol);

}  // namespace heddle::nccl_tuner
