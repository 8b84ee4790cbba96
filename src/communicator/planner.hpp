// From a call to what runs it: the algorithm chosen, its plan and an execution, made once per
// (collective, algorithm, channels) and remembered.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/settings.hpp"
#include "collectives/schedule.hpp"
#include "communicator/operation.hpp"
#include "executor/host/execution.hpp"
#include "executor/plan.hpp"

namespace heddle::communicator {

struct Prepared {
  Prepared(const collectives::Algorithm& chosen, const collectives::Shape& wanted, int rank,
           std::size_t slot_bytes)
      : algorithm(chosen), shape(wanted), plan(chosen, wanted, rank, slot_bytes) {}

  const collectives::Algorithm& algorithm;
  collectives::Shape shape;
  executor::Plan plan;
  std::unique_ptr<executor::Execution> execution;  // made when the plan is bound
  bool uses_fabric = false;
};

class Planner {
 public:
  Planner(const base::Settings& settings, int rank, int ranks, bool local, std::size_t slot_bytes);

  // The plan of a call; the same object for calls of the same kind.
  Prepared& prepare(const Call& call);

 private:
  struct Remembered {
    std::size_t bytes = 0;
    Prepared* prepared = nullptr;
  };
  Prepared& find_or_make(base::Collective collective, std::size_t bytes);

  // Recent sizes of each collective, so that the table is not read for every call.
  static constexpr std::size_t kRecent = 64;

  const base::Settings& settings_;
  int rank_;
  int ranks_;
  bool local_;
  std::size_t slot_bytes_;
  std::array<std::array<Remembered, kRecent>, base::kCollectives> recent_{};
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

}  // namespace heddle::communicator
