// From a call to what runs it: the algorithm chosen, its plan and an execution, made once per
// (collective, algorithm, channels, root) and remembered.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/settings.hpp"
#include "collectives/schedule.hpp"
#include "communicator/operation.hpp"
#include "communicator/planner_files.hpp"
#include "executor/host/execution.hpp"
#include "executor/plan.hpp"
#include "tuner/tuner.hpp"

namespace heddle::communicator {

// One execution of an operation. A collective has one; a group of sends and receives has one for
// each peer and direction, so that no peer waits for another.
struct Prepared {
  Prepared(std::string by, const executor::Program& program, std::size_t message_bytes)
      : name(std::move(by)), shape(program.shape), plan(program, message_bytes) {}

  std::string name;  // of what runs, for people
  collectives::Shape shape;
  executor::Plan plan;
  std::unique_ptr<executor::Execution> execution;  // made when the plan is bound
  executor::Blocks blocks;                         // of transfers: the current operation's
  bool uses_fabric = false;
  bool done = false;  // with the current operation
};

struct PlannerOptions {
  int rank;
  int ranks;
  bool local;  // shared memory joins all ranks
  int hosts;
  int ranks_per_host;  // as in collectives::Shape
  int rails;           // that every process has at least
  std::size_t slot_bytes;
};

class Planner {
 public:
  // The references must outlive this.
  Planner(const base::Settings& settings, const PlannerFiles& files, const PlannerOptions& options);

  // What runs a call; the same objects for calls of the same kind. Valid until the next call.
  std::span<Prepared* const> prepare(const Call& call);

 private:
  struct Remembered {
    std::size_t bytes = 0;
    int root = -1;
    Prepared* prepared = nullptr;
  };
  // Peer, direction, and how many transfers.
  using TransferKey = std::tuple<int, executor::Direction, int>;

  Prepared& prepare_collective(const Call& call);
  std::string why_not_scheduled(const Call& call) const;
  void note_passed_over(const Call& call, std::string_view algorithm);
  Prepared& run_schedule(const Call& call);
  tuner::Pick pick(const Call& call, std::size_t bytes);
  Prepared& make(std::string by, const executor::Program& program, std::size_t message_bytes);
  std::string eager_text() const;
  void prepare_transfers(const Call& call);
  Prepared& find_or_make(const Call& call, std::size_t bytes);

  // Recent sizes of each collective, so that the table is not read for every call.
  static constexpr std::size_t kRecent = 64;

  const base::Settings& settings_;
  const PlannerFiles& files_;
  PlannerOptions options_;
  tuner::Tuner tuner_;
  std::array<std::array<Remembered, kRecent>, base::kCollectives> recent_{};
  // Of each collective, whether it was said that HEDDLE_ALGO cannot do it.
  std::array<bool, base::kCollectives> refusal_told_{};
  // Of each collective, whether it was said that HEDDLE_SCHEDULE does not run it.
  std::array<bool, base::kCollectives> passed_over_{};
  std::vector<std::unique_ptr<Prepared>> prepared_;
  std::map<TransferKey, Prepared> transfers_;
  std::vector<Prepared*> parts_;  // what prepare() answered last
};

}  // namespace heddle::communicator
