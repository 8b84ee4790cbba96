#include "nccl-tuner/fill.hpp"

#include <algorithm>
#include <limits>

namespace heddle::nccl_tuner {
namespace {

// NCCL multiplies the cost of rings of more than 8 ranks by 1024 where they would lose digits of
// 8-bit floats. That is no matter of speed, and no model's business.
constexpr double kForPrecision = 128;

bool is_known(abi::Function function) {
  const auto number = static_cast<int>(function);
  return number >= 0 && number < abi::kFunctions;
}

// -1, and what is no number, are not.
bool is_live(float cost) { return cost >= 0 && cost < kLast; }

template <typename Look>  // Look(algorithm, protocol, cost&)
void for_live(Table table, Look look) {
  for (int a = 0; a < table.algorithms; ++a)
    for (int p = 0; p < table.protocols; ++p)
      if (float& cost = table.costs[a * table.protocols + p]; is_live(cost)) look(a, p, cost);
}

// False, and the table as it was, when there is no Simple.
bool put_others_last(Table table) {
  bool simple = false;
  for_live(table, [&](int, int p, float&) { simple = simple || p == abi::kSimple; });
  if (simple)
    for_live(table, [&](int, int p, float& cost) {
      if (p != abi::kSimple) cost = kLast;
    });
  return simple;
}

// Of the pairs in Simple that are priced.
struct Cheapest {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  int pairs = 0;
  double table = kNone, model = kNone, ring = 0, not_ring = kNone;

  bool ring_is_shunned() const { return ring > kForPrecision * not_ring; }
};

}  // namespace

void fill(const Prices& prices, abi::Function function, std::size_t bytes, Table table) noexcept {
  if (table.costs == nullptr || bytes == 0 || !is_known(function) || !put_others_last(table))
    return;
  Cheapest found;
  for_live(table, [&](int a, int, float& cost) {
    const double price = prices.at(function, a, bytes);
    if (price < 0) return;
    ++found.pairs;
    found.table = std::min<double>(found.table, cost);
    found.model = std::min(found.model, price);
    if (a == abi::kRing)
      found.ring = cost;
    else
      found.not_ring = std::min<double>(found.not_ring, cost);
  });
  if (found.pairs < 2 || found.table <= 0 || found.model <= 0 || found.ring_is_shunned()) return;
  for_live(table, [&](int a, int, float& cost) {
    const double price = prices.at(function, a, bytes);
    if (price >= 0)
      cost = static_cast<float>(std::min<double>(found.table * (price / found.model), kLast));
  });
}

std::optional<Choice> choose(const Prices& prices, abi::Function function,
                             std::size_t bytes) noexcept {
  if (bytes == 0 || !is_known(function)) return std::nullopt;
  const double tree = prices.at(function, abi::kTree, bytes);
  const double ring = prices.at(function, abi::kRing, bytes);
  return Choice{tree >= 0 && tree < ring ? abi::kTree : abi::kRing, abi::kSimple};
}

}  // namespace heddle::nccl_tuner
