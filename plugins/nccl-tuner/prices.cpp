#include "nccl-tuner/prices.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tuner/tuner.hpp"

namespace heddle::nccl_tuner {
namespace {

using abi::Function;

// What NCCL runs that Heddle has a schedule of the same shape for. NVLS and CollNet add inside
// switches, of which the machine model knows nothing.
struct Row {
  Function function;
  int algorithm;
  base::Collective collective;
  std::string_view schedule;
  bool one_rank_a_node = false;  // NCCL has it in no other world
};
constexpr Row kRows[] = {
    {Function::all_reduce, abi::kTree, base::Collective::all_reduce, "tree"},
    {Function::all_reduce, abi::kRing, base::Collective::all_reduce, "ring"},
    {Function::all_gather, abi::kRing, base::Collective::all_gather, "ring"},
    {Function::all_gather, abi::kPat, base::Collective::all_gather, "pat", true},
    {Function::reduce_scatter, abi::kRing, base::Collective::reduce_scatter, "ring"},
    {Function::reduce_scatter, abi::kPat, base::Collective::reduce_scatter, "pat", true},
    {Function::broadcast, abi::kRing, base::Collective::broadcast, "chain"},
    {Function::reduce, abi::kRing, base::Collective::reduce, "chain"},
};

bool is_there(const Row& row, const World& world) {
  return !row.one_rank_a_node || world.ranks_per_node == 1;
}

std::optional<topology::Protocol> protocol_named(const topology::SoftwareModel& software,
                                                 std::string_view name) {
  for (const topology::Protocol& protocol : software.protocols)
    if (protocol.name == name) return protocol;
  return std::nullopt;
}

// The protocols to price, by NCCL's numbers. Between nodes it is Simple alone (README.md); a
// machine with one way to lay data on the wire, or none of its own, goes that way.
std::vector<std::pair<int, topology::Protocol>> protocols_of(const topology::Machine& machine,
                                                             const World& world) {
  std::vector<std::pair<int, topology::Protocol>> found;
  for (int number = 0; number < abi::kProtocols; ++number) {
    if (world.nodes > 1 && number != abi::kSimple) continue;
    if (const auto protocol = protocol_named(machine.software, name_of_protocol(number)))
      found.emplace_back(number, *protocol);
  }
  if (found.empty() && world.nodes > 1) {
    const auto& own = machine.software.protocols;
    found.emplace_back(abi::kSimple, own.size() == 1 ? own.front() : topology::Protocol{});
  }
  return found;
}

// The machine as messages of the protocol find it; what the simulator makes of the same numbers.
topology::Machine under(const topology::Protocol& protocol, topology::Machine machine) {
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
  const auto reach = world.nodes > 1 ? collectives::Reach::fabric : collectives::Reach::local;
  tuner::Request request{};
  request.selection = {row.collective, bytes, ranks, reach, row.schedule};
  request.selection.ranks_per_host = world.ranks_per_node;
  request.selection.slot_bytes = slot_bytes;
  request.block_bytes = std::max<std::size_t>(bytes / static_cast<std::size_t>(blocks), 1);
  request.hosts = world.nodes;
  return request;
}

}  // namespace

const char* name_of_algorithm(int algorithm) {
  return algorithm == abi::kTree ? "tree" : algorithm == abi::kRing ? "ring" : "PAT";
}

const char* name_of_protocol(int protocol) {
  return protocol == abi::kLl ? "LL" : protocol == abi::kLl128 ? "LL128" : "Simple";
}

Prices::Prices(const topology::Machine& machine, World world) : between_nodes_(world.nodes > 1) {
  if (between_nodes_) topology::network_of(machine, -1);
  const auto protocols = protocols_of(machine, world);
  const auto candidates = [&](Function function) {
    const auto rows = std::ranges::count_if(
        kRows, [&](const Row& row) { return row.function == function && is_there(row, world); });
    return static_cast<std::size_t>(rows) * protocols.size();
  };
  for (const auto& [number, protocol] : protocols) {
    tuner::Tuner tuner(under(protocol, machine));
    for (const Row& row : kRows) {
      if (!is_there(row, world) || candidates(row.function) < 2) continue;
      auto curve = std::make_unique<Curve>();
      for (int k = 0; k < kSizes; ++k) {
        const auto priced =
            tuner.prices(request_for(row, world, std::size_t{1} << k, machine.software.slot_bytes));
        // The cheapest channels and chunks: NCCL picks its own likewise.
        (*curve)[static_cast<std::size_t>(k)] =
            priced.empty() ? -1.F : static_cast<float>(priced.front().seconds * 1e6);
      }
      if (curve->front() < 0) continue;  // no chunk of it has room in this machine's slots
      curves_[static_cast<std::size_t>(row.function)][static_cast<std::size_t>(row.algorithm)]
             [static_cast<std::size_t>(number)] = std::move(curve);
    }
  }
  for (const Function function : {Function::all_reduce, Function::all_gather,
                                  Function::reduce_scatter, Function::broadcast, Function::reduce})
    if (const std::string text = text_of(function); !text.empty())
      text_ += (text_.empty() ? "" : "; ") + text;
}

double Prices::at(Function function, int algorithm, int protocol,
                  std::size_t bytes) const noexcept {
  const auto f = static_cast<unsigned>(function), a = static_cast<unsigned>(algorithm),
             p = static_cast<unsigned>(protocol);
  if (f >= abi::kFunctions || a >= abi::kAlgorithms || p >= abi::kProtocols || bytes == 0)
    return -1;
  const Curve* const curve = curves_[f][a][p].get();
  if (curve == nullptr) return -1;
  const auto power = static_cast<std::size_t>(std::min<int>(std::bit_width(bytes) - 1, kSizes - 2));
  const auto at_power = static_cast<double>(std::size_t{1} << power);
  const double low = (*curve)[power], high = (*curve)[power + 1];
  return low + (high - low) * (static_cast<double>(bytes) - at_power) / at_power;
}

std::string Prices::text_of(Function function) const {
  std::string text;
  std::pair<int, int> last{-1, -1};
  for (int k = 2; k < kSizes; ++k) {
    const std::size_t bytes = std::size_t{1} << k;
    std::pair<int, int> best{-1, -1};
    double least = std::numeric_limits<double>::infinity();
    for (int a = 0; a < abi::kAlgorithms; ++a)
      for (int p = 0; p < abi::kProtocols; ++p)
        if (const double cost = at(function, a, p, bytes); cost >= 0 && cost < least)
          least = cost, best = {a, p};
    if (best == last || best.first < 0) continue;
    text += last.first < 0 ? "" : fmt::format(", from {}", base::bytes_text(bytes));
    text += fmt::format(" by {}{}{}", name_of_algorithm(best.first), between_nodes_ ? "" : " in ",
                        between_nodes_ ? "" : name_of_protocol(best.second));
    last = best;
  }
  const auto of = std::ranges::find(kRows, function, &Row::function);
  return text.empty() ? "" : std::string(base::name_of(of->collective)) + text;
}

}  // namespace heddle::nccl_tuner
