#include "nccl-tuner/fill.hpp"

#include <algorithm>
#include <limits>

namespace heddle::nccl_tuner {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// NCCL multiplies the cost of rings of more than 8 ranks by 1024 where they would lose digits of
// 8-bit floats. That is no matter of speed, and no model's business.
constexpr double kForPrecision = 128;

// -1, and what is no number, are not.
bool is_live(float cost) { return cost >= 0 && cost < kLast; }

template <typename Look>  // Look(algorithm, protocol, cost&)
void for_live(Table table, Look look) {
  for (int a = 0; a < table.algorithms; ++a)
    for (int p = 0; p < table.protocols; ++p)
      if (float& cost = table.costs[a * table.protocols + p]; is_live(cost)) look(a, p, cost);
}

// False when there is nothing but others.
bool put_others_last(Table table) {
  bool simple = false;
  for_live(table, [&](int, int p, float&) { simple = simple || p == abi::kSimple; });
  if (simple)
    for_live(table, [&](int, int p, float& cost) {
      if (p != abi::kSimple) cost = kLast;
    });
  return simple;
}

struct Cheapest {
  int pairs = 0;
  double table = kNone, model = kNone, dearest_ring = 0, not_ring = kNone;

  bool ring_is_shunned() const { return dearest_ring > kForPrecision * not_ring; }
};

}  // namespace

void fill(const Prices& prices, abi::Function function, std::size_t bytes, Table table) noexcept {
  const auto number = static_cast<int>(function);
  if (table.costs == nullptr || bytes == 0 || number < 0 || number >= abi::kFunctions) return;
  if (prices.between_nodes() && !put_others_last(table)) return;
  Cheapest found;
  for_live(table, [&](int a, int p, float& cost) {
    const double price = prices.at(function, a, p, bytes);
    if (price < 0) return;
    ++found.pairs;
    found.table = std::min<double>(found.table, cost);
    found.model = std::min(found.model, price);
    if (a == abi::kRing)
      found.dearest_ring = std::max<double>(found.dearest_ring, cost);
    else
      found.not_ring = std::min<double>(found.not_ring, cost);
  });
  if (found.pairs < 2 || found.table <= 0 || found.model <= 0 || found.ring_is_shunned()) return;
  for_live(table, [&](int a, int p, float& cost) {
    const double price = prices.at(function, a, p, bytes);
    if (price >= 0)
      cost = static_cast<float>(std::min<double>(found.table * (price / found.model), kLast));
  });
}

std::optional<Choice> choose(const Prices& prices, abi::Function function,
                             std::size_t bytes) noexcept {
  const auto number = static_cast<int>(function);
  if (!prices.between_nodes() || bytes == 0 || number < 0 || number >= abi::kFunctions)
    return std::nullopt;
  const double tree = prices.at(function, abi::kTree, abi::kSimple, bytes);
  const double ring = prices.at(function, abi::kRing, abi::kSimple, bytes);
  return Choice{tree >= 0 && tree < ring ? abi::kTree : abi::kRing, abi::kSimple};
}

}  // namespace heddle::nccl_tuner
