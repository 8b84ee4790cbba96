// heddle-sim's runs: rows of sizes, by the simulator.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "collectives/schedule.hpp"
#include "simulator/choose.hpp"
#include "simulator/engine.hpp"
#include "topology/machine.hpp"

namespace heddle::tools {

// Sizes that may be asked for: from one float up to what takes minutes.
inline constexpr std::size_t kLeastBytes = 4, kMostBytes = std::size_t{1} << 36;
// What one simulation may have: the ranks, and of a round the moves (16 bytes of memory each) and
// their ends at pipes (4 bytes); and the pipes (about 250 bytes with 8 slots).
inline constexpr int kMostRanks = 1 << 17;
inline constexpr double kMostMovesOfRound = 2e8, kMostEndsOfRound = 8e8, kMostPipes = 3e7;

struct SimOptions {
  std::string collective = "all_reduce";
  std::string machine_name;
  int hosts = 0;      // 0: the machine file's
  int adapters = -1;  // -1: the machine file's
  std::string algorithm;
  std::string schedule;  // a file that replaces every choice
  int channels = 0;
  std::size_t min_bytes = 8, max_bytes = std::size_t{1} << 30;
  int factor = 2;
  std::string trace;
  bool json = false, compare = false, scaling = false;
};

struct SimRow {
  std::size_t bytes = 0;  // of the larger buffer of a rank
  std::size_t count = 0;  // elements of a block
  double seconds = 0;
  double algbw = 0, busbw = 0;  // GB/s
  simulator::Chosen chosen;
  std::string by;  // the algorithm's name, or the schedule's file
  simulator::Result result;
};

base::Collective sim_collective(const SimOptions& options);
// Fails with heddleInvalidArgument for more than kMostRanks.
topology::Machine sim_machine(const SimOptions& options);
// The schedule that the options name, proved with the machine's slots. Fails as load_schedule does,
// and with heddleInvalidArgument for another collective or more ranks than the machine has.
std::optional<collectives::Schedule> sim_schedule(const topology::Machine& machine,
                                                  const SimOptions& options);
// nccl-tests' factor from algorithm to bus bandwidth.
double bus_factor(base::Collective collective, int ranks);

// Fails as choose() and simulate() do, and for more than a round may have.
SimRow sim_row(const topology::Machine& machine, const SimOptions& options, int adapters,
               std::size_t bytes, simulator::Trace* trace = nullptr);
// The same of a schedule on its own ranks, the machine's first ones.
SimRow sim_row(const topology::Machine& machine, const SimOptions& options,
               const collectives::Schedule& schedule, std::size_t bytes,
               simulator::Trace* trace = nullptr);
// Fails with heddleInvalidArgument when the smallest size is larger than the largest.
std::vector<std::size_t> sim_sizes(const SimOptions& options);
double mean_busbw(const std::vector<SimRow>& rows);
double max_busbw(const std::vector<SimRow>& rows);

}  // namespace heddle::tools
