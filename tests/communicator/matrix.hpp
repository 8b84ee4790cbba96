// What the matrices of operations over the real transports run through.
#pragma once

#include <string>
#include <vector>

#include "collectives/schedule.hpp"
#include "ranks.hpp"
#include "run_shapes.hpp"

namespace heddle::test {

inline std::vector<base::Collective> every_collective() {
  std::vector<base::Collective> all;
  for (int c = 0; c < base::kCollectives; ++c) all.push_back(static_cast<base::Collective>(c));
  return all;
}

// What one host's ranks can do by an algorithm, whatever the root.
inline std::vector<base::Collective> collectives_of(const collectives::Algorithm& algorithm,
                                                    int ranks) {
  std::vector<base::Collective> some;
  for (const base::Collective collective : every_collective())
    if (can_do(algorithm, {collective, ranks, 1, 0, ranks})) some.push_back(collective);
  return some;
}

inline base::DataType type_at(std::size_t i) {
  return static_cast<base::DataType>(i % heddleNumTypes);
}
inline base::RedOp op_at(std::size_t i) { return static_cast<base::RedOp>(i % heddleNumOps); }

// Every type, and every operation where there is any.
template <typename Check>
void for_types_and_ops(base::Collective collective, Check check) {
  for (std::size_t type = 0; type < heddleNumTypes; ++type)
    for (std::size_t op = 0; op < heddleNumOps; ++op)
      if (op == heddleSum || base::reduces(collective)) check(type_at(type), op_at(op));
}

// The model's inputs are such that eight of them add up to what these hold exactly.
inline bool holds_sum_of(int ranks, base::DataType type) {
  return ranks <= 8 || (base::size_of(type) > 1 && type != heddleBfloat16) || type == heddleInt8;
}

inline std::vector<std::size_t> small_counts(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return {0, 1, 2, n - 1, n, n + 1, 2 * n + 1, 13, 127, 1009};
}

// Runs the body with every algorithm that can do anything among so many ranks of one host.
template <typename Check>
void by_every_algorithm(int ranks, const std::string& settings, Check check) {
  std::size_t number = 0;
  for (const auto& algorithm : collectives::algorithms()) {
    const auto some = collectives_of(algorithm, ranks);
    ++number;
    if (some.empty()) continue;
    run_ranks(
        ranks, [&](Communicator& communicator, int) { check(communicator, some, number); },
        "HEDDLE_LOG=error " + settings + " HEDDLE_ALGO=" + std::string(algorithm.name));
  }
}

}  // namespace heddle::test
