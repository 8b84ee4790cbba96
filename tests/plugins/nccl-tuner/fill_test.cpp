// What is written into NCCL's table and what is not, and what NCCL then runs.
#include "nccl-tuner/fill.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "catch.hpp"
#include "executor/allocations.hpp"
#include "nccl_table.hpp"
#include "tuner/priced_machine.hpp"

namespace heddle::nccl_tuner {
namespace {

using abi::Function;
using namespace test;

constexpr std::size_t kSmall = 64, kLarge = std::size_t{1} << 32;

const Prices& many_nodes() {
  static const Prices prices(plain_machine(16, 8), {16, 8});
  return prices;
}

NcclTable filled(const Prices& prices, Function function, std::size_t bytes, NcclTable table) {
  fill(prices, function, bytes, {table.costs(), table.algorithms(), abi::kProtocols});
  CHECK(table.is_guarded());
  return table;
}

TEST_CASE("NCCL runs what the model says, in Simple") {
  CHECK(filled(many_nodes(), Function::all_reduce, kSmall, all_reduce_table()).run() ==
        kTreeSimple);
  CHECK(filled(many_nodes(), Function::all_reduce, kLarge, all_reduce_table()).run() ==
        kRingSimple);
}

TEST_CASE("pairs stand to each other as the model says, from NCCL's cheapest up") {
  const NcclTable table = filled(many_nodes(), Function::all_reduce, kSmall, all_reduce_table());
  const double tree = many_nodes().at(Function::all_reduce, abi::kTree, kSmall);
  const double ring = many_nodes().at(Function::all_reduce, abi::kRing, kSmall);
  CHECK(table.at(kTreeSimple) == Approx(50));  // the cheaper in Simple by NCCL was the ring's
  CHECK(table.at(kRingSimple) == Approx(50 * ring / tree));
}

TEST_CASE("what NCCL cannot run, and what the model cannot price, stays as it was") {
  NcclTable before = all_reduce_table().put(kNvlsTree, 40);
  before.at(kTreeSimple) = -1;
  NcclTable after = filled(many_nodes(), Function::all_reduce, kSmall, before);
  for (int a = 0; a < abi::kAlgorithms; ++a)
    for (int p = 0; p < abi::kProtocols; ++p)
      if (before.at({a, p}) < 0) CHECK(after.at({a, p}) == -1.F);
  CHECK(after.at(kNvlsTree) == 40.F);
  CHECK(after.at(kRingSimple) == 50.F);  // alone: there is nothing to choose
  CHECK(after.run() == kNvlsTree);
}

TEST_CASE("LL and LL128 are the last resort, and below what NCCL looks at") {
  const NcclTable table =
      filled(many_nodes(), Function::broadcast, kSmall,
             NcclTable().put(kRingLl, 10).put(kRingLl128, 15).put(kRingSimple, 50));
  CHECK(table.at(kRingLl) == kLast);
  CHECK(table.at(kRingLl128) == kLast);
  CHECK(table.at(kRingSimple) == 50.F);
  CHECK(table.run() == kRingSimple);
  CHECK(kLast < 3.6e9F);
}

TEST_CASE("where a user left NCCL nothing but LL, that runs") {
  const NcclTable before = NcclTable().put(kRingLl, 10).put(kTreeLl, 15);
  CHECK(filled(many_nodes(), Function::all_reduce, kSmall, before) == before);
}

TEST_CASE("PAT and ring race where both are priced") {
  const Prices prices(plain_machine(8, 1), {8, 1});
  const NcclTable before = NcclTable().put(kRingSimple, 5).put(kPatSimple, 9);
  CHECK(filled(prices, Function::all_gather, kSmall, before).run() == kPatSimple);
}

TEST_CASE("the table of an older NCCL has fewer rows") {
  CHECK(filled(many_nodes(), Function::all_reduce, kSmall, all_reduce_table(6)).run() ==
        kTreeSimple);
  CHECK(filled(many_nodes(), Function::all_reduce, kLarge, all_reduce_table(2)).run() ==
        kRingSimple);
}

TEST_CASE("a ring that NCCL shuns for its precision stays shunned") {
  const NcclTable before = all_reduce_table().put(kRingSimple, 50 * 1024).put(kRingLl, 30 * 1024);
  const NcclTable after = filled(many_nodes(), Function::all_reduce, kLarge, before);
  CHECK(after.run() == kTreeSimple);
  CHECK(after.at(kRingSimple) == before.at(kRingSimple));
}

TEST_CASE("what cannot be is left alone") {
  const NcclTable before = all_reduce_table();
  CHECK(filled(many_nodes(), Function::all_reduce, 0, before) == before);
  for (const int strange : {-1, 5, 6, 15, std::numeric_limits<int>::max()})
    CHECK(filled(many_nodes(), Function{strange}, kSmall, before) == before);
  // A communicator of one rank.
  const NcclTable one = NcclTable().put(kRingSimple, 0);
  CHECK(filled(many_nodes(), Function::all_reduce, kSmall, one) == one);
  fill(many_nodes(), Function::all_reduce, kSmall, {nullptr, 7, 3});
  fill(many_nodes(), Function::all_reduce, kSmall, {NcclTable().costs(), 0, 0});
}

TEST_CASE("whatever the size, something can be run") {
  for (std::size_t bytes = 1; bytes != 0; bytes *= 2) {
    const Pair run = filled(many_nodes(), Function::all_reduce, bytes, all_reduce_table()).run();
    CHECK((run == kTreeSimple || run == kRingSimple));
  }
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  CHECK(filled(many_nodes(), Function::all_reduce, kMost, all_reduce_table()).run() == kRingSimple);
}

TEST_CASE("costs that are no numbers are left alone and hurt no others") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const NcclTable after =
      filled(many_nodes(), Function::all_reduce, kLarge,
             all_reduce_table().put(kTreeSimple, kNan).put(kNvlsTree, kInfinite));
  CHECK(after.at(kTreeSimple) != after.at(kTreeSimple));
  CHECK(after.at(kNvlsTree) == kInfinite);
  CHECK(after.run() == kRingSimple);
}

TEST_CASE("v2's choice is the model's, and a ring where it has none") {
  const auto chosen = [](const Prices& prices, Function function, std::size_t bytes) {
    const auto choice = choose(prices, function, bytes);
    return choice ? Pair{choice->algorithm, choice->protocol} : Pair{-1, -1};
  };
  CHECK(chosen(many_nodes(), Function::all_reduce, kSmall) == kTreeSimple);
  CHECK(chosen(many_nodes(), Function::all_reduce, kLarge) == kRingSimple);
  CHECK(chosen(many_nodes(), Function::broadcast, kSmall) == kRingSimple);
  CHECK(chosen(many_nodes(), Function{5}, kSmall) == Pair{-1, -1});
  CHECK(chosen(many_nodes(), Function::all_reduce, 0) == Pair{-1, -1});
}

TEST_CASE("a call allocates nothing and takes less than two microseconds") {
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 1000;
  const NcclTable fresh = all_reduce_table();
  NcclTable table = fresh;
  auto best = Clock::duration::max();
  for (int batch = 0; batch < 50; ++batch) {
    const std::size_t before = allocations();
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) {
      table.put(kTreeLl, 20).put(kRingLl, 30).put(kTreeSimple, 60).put(kRingSimple, 50);
      const auto bytes = static_cast<std::size_t>(call + 1) * 4096;
      fill(many_nodes(), Function::all_reduce, bytes, {table.costs(), 7, 3});
      (void)choose(many_nodes(), Function::all_reduce, bytes);
    }
    best = std::min(best, Clock::now() - start);
    REQUIRE(allocations() == before);
  }
  const double microseconds = std::chrono::duration<double, std::micro>(best).count() / kCalls;
  INFO(microseconds << " us a call");
  CHECK(microseconds < 2);
}

}  // namespace
}  // namespace heddle::nccl_tuner
