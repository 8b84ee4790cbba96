#include "nccl-tuner/prices.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tuner/tuner.hpp"

namespace heddle::nccl_tuner {
namespace {

using abi::Function;

// The choices that NCCL has and Heddle has schedules of the same shape for. NVLS and CollNet add
// inside switches, of which the machine model knows nothing; a broadcast and a reduce are rings.
struct Row {
  Function function;
  int algorithm;
  base::Collective collective;
  std::string_view schedule;
  bool one_rank_a_node = false;  // PAT is for such worlds only, and nothing else its rival
};
constexpr Row kRows[] = {
    {Function::all_reduce, abi::kTree, base::Collective::all_reduce, "tree"},
    {Function::all_reduce, abi::kRing, base::Collective::all_reduce, "ring"},
    {Function::all_gather, abi::kRing, base::Collective::all_gather, "ring", true},
    {Function::all_gather, abi::kPat, base::Collective::all_gather, "pat", true},
    {Function::reduce_scatter, abi::kRing, base::Collective::reduce_scatter, "ring", true},
    {Function::reduce_scatter, abi::kPat, base::Collective::reduce_scatter, "pat", true},
};

// Simple, or the only way that the machine's software has to lay data on the wire.
topology::Protocol protocol_of(const topology::SoftwareModel& software) {
  for (const topology::Protocol& protocol : software.protocols)
    if (protocol.name == "Simple" || software.protocols.size() == 1) return protocol;
  return {};
}

// The machine as messages of that protocol find it; what the simulator makes of the same numbers.
topology::Machine under_simple(topology::Machine machine) {
  const topology::Protocol protocol = protocol_of(machine.software);
  machine.rank.move_time += protocol.move_time;
  machine.inner.bandwidth *= protocol.wire_efficiency;
  for (topology::AdapterModel* network : {&machine.adapters, &machine.host_network}) {
    network->bandwidth *= protocol.wire_efficiency;
    network->stream_bandwidth *= protocol.wire_efficiency;
    network->latency += protocol.network_time;
    if (protocol.direct && !network->staged) network->latency += network->direct_time;
  }
  return machine;
}

tuner::Request request_for(const Row& row, const World& world, std::size_t bytes,
                           std::size_t slot_bytes) {
  const int ranks = world.nodes * world.ranks_per_node;
  const int blocks = std::max(base::input_blocks(row.collective, ranks),
                              base::output_blocks(row.collective, ranks));
  tuner::Request request{};
  request.selection = {row.collective, bytes, ranks, collectives::Reach::fabric, row.schedule};
  request.selection.ranks_per_host = world.ranks_per_node;
  request.selection.slot_bytes = slot_bytes;
  request.block_bytes = std::max<std::size_t>(bytes / static_cast<std::size_t>(blocks), 1);
  request.hosts = world.nodes;
  return request;
}

const char* name_of(int algorithm) {
  return algorithm == abi::kTree ? "tree" : algorithm == abi::kRing ? "ring" : "PAT";
}

}  // namespace

Prices::Prices(const topology::Machine& machine, World world) {
  HEDDLE_ASSERT(world.nodes > 1 && world.ranks_per_node > 0, "{} nodes of {}", world.nodes,
                world.ranks_per_node);
  tuner::Tuner tuner(under_simple(machine));
  for (const Row& row : kRows) {
    if (row.one_rank_a_node && world.ranks_per_node > 1) continue;
    auto curve = std::make_unique<Curve>();
    for (int k = 0; k < kSizes; ++k) {
      const auto priced =
          tuner.prices(request_for(row, world, std::size_t{1} << k, machine.software.slot_bytes));
      // By the cheapest channels and chunks: NCCL picks its own likewise.
      (*curve)[static_cast<std::size_t>(k)] =
          priced.empty() ? -1.F : static_cast<float>(priced.front().seconds * 1e6);
    }
    if (curve->front() < 0) continue;  // no chunk of it has room in this machine's slots
    curves_[static_cast<std::size_t>(row.function)][static_cast<std::size_t>(row.algorithm)] =
        std::move(curve);
  }
}

double Prices::at(Function function, int algorithm, std::size_t bytes) const noexcept {
  const auto f = static_cast<unsigned>(function), a = static_cast<unsigned>(algorithm);
  if (f >= abi::kFunctions || a >= abi::kAlgorithms || bytes == 0) return -1;
  const Curve* const curve = curves_[f][a].get();
  if (curve == nullptr) return -1;
  const auto power = static_cast<std::size_t>(
      std::min<int>(static_cast<int>(std::bit_width(bytes)) - 1, kSizes - 2));
  const auto at_power = static_cast<double>(std::size_t{1} << power);
  const double low = (*curve)[power], high = (*curve)[power + 1];
  return low + (high - low) * (static_cast<double>(bytes) - at_power) / at_power;
}

std::string Prices::text_of(Function function) const {
  std::string text;
  int last = abi::kUndefined;
  for (int k = 2; k < kSizes; ++k) {
    const std::size_t bytes = std::size_t{1} << k;
    int best = abi::kUndefined;
    double least = std::numeric_limits<double>::infinity();
    for (int a = 0; a < abi::kAlgorithms; ++a)
      if (const double cost = at(function, a, bytes); cost >= 0 && cost < least)
        least = cost, best = a;
    if (best == last) continue;
    if (last != abi::kUndefined) text += fmt::format(", from {}", base::bytes_text(bytes));
    text += fmt::format(" by {}", name_of(best));
    last = best;
  }
  return text;
}

std::string Prices::text() const {
  std::string text;
  const Row* last = nullptr;
  for (const Row& row : kRows) {
    if (last != nullptr && last->function == row.function) continue;
    last = &row;
    if (const std::string choices = text_of(row.function); !choices.empty())
      text +=
          fmt::format("{}{}{}", text.empty() ? "" : "; ", base::name_of(row.collective), choices);
  }
  return text;
}

}  // namespace heddle::nccl_tuner
