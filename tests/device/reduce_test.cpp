// reduce() against the plain model: every type and operation, all shapes of a move.
#include <set>
#include <string>

#include "catch.hpp"
#include "device/reduce.hpp"
#include "guarded.hpp"
#include "layouts.hpp"
#include "targets.hpp"

namespace heddle::device {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 129, 1000, 4097};

TEST_CASE("reduce gives the model's bits for every type, operation and shape") {
  for (int type = 0; type < heddleNumTypes; ++type) {
    for (int op = 0; op < heddleNumOps; ++op) {
      for (const int sources : {1, 2, 3, 5, 8}) {
        for (const std::size_t count : kCounts) {
          const int divide_by = op == heddleAvg ? sources : 1;
          check_layouts(
              {static_cast<DataType>(type), static_cast<RedOp>(op), sources, count, divide_by});
        }
      }
    }
  }
}

TEST_CASE("reduce divides once, by any number of ranks") {
  for (int type = 0; type < heddleNumTypes; ++type) {
    for (const int divide_by : {1, 2, 3, 7, 64, 127, 128, 1000, 2147483647}) {
      for (const int sources : {1, 2, 3}) {
        check_layouts({static_cast<DataType>(type), heddleAvg, sources, 129, divide_by});
      }
    }
    check_layouts({static_cast<DataType>(type), heddleProd, 2, 65, 3});
  }
}

TEST_CASE("every compiled instruction set is checked") {
  std::multiset<std::string> seen;
  for (const KernelTable& kernels : every_target()) seen.insert(kernels.target);
  CHECK(!seen.empty());
  CHECK(seen.count(reduce_target()) == 1);
#if defined(__x86_64__)
  CHECK((seen.count("AVX2") == 1) == (__builtin_cpu_supports("avx2") != 0));
  CHECK((seen.count("AVX3") == 1) == (__builtin_cpu_supports("avx512vl") != 0));
#if !defined(__AVX2__)
  // The baseline is a set of its own, below AVX2.
  CHECK(seen.size() == 1 + seen.count("AVX2") + seen.count("AVX3"));
#endif
#endif
}

TEST_CASE("reduce touches nothing outside its range, not even by reading") {
  PageBetweenFaults a, b, c, d;
  for (int type = 0; type < heddleNumTypes; ++type) {
    for (std::size_t count = 0; count <= 200; ++count) {
      const std::size_t bytes = count * base::size_of(static_cast<DataType>(type));
      for (const bool at_end : {false, true}) {
        const auto place = [&](PageBetweenFaults& page) {
          return at_end ? page.end() - bytes : page.begin();
        };
        const std::byte* const from[] = {place(a), place(b)};
        std::byte* const to[] = {place(c), place(d)};
        for (const KernelTable& kernels : every_target()) {
          for (const std::size_t sources : {1, 2}) {
            for (const std::size_t destinations : {1, 2}) {
              reduce_with(kernels, {.sources = {from, sources},
                                    .destinations = {to, destinations},
                                    .count = count,
                                    .type = static_cast<DataType>(type),
                                    .op = count % 2 == 0 ? heddleSum : heddleProd,
                                    .divide_by = count % 3 == 0 ? 3 : 1,
                                    .streaming = count % 5 == 0 ? 1u : 0u});
            }
          }
        }
      }
    }
  }
  SUCCEED("a stray access would have been a fault");
}

TEST_CASE("a task without an end, or of an unknown type, is refused") {
  std::byte memory[16] = {};
  const std::byte* const from[] = {memory};
  std::byte* const to[] = {memory};
  ReduceTask task{
      .sources = from, .destinations = to, .count = 1, .type = heddleInt32, .op = heddleSum};
  const auto refused = [&](auto change) {
    ReduceTask bad = task;
    change(bad);
    CHECK_THROWS(reduce(bad));
  };
  CHECK_NOTHROW(reduce(task));
  refused([](ReduceTask& t) { t.sources = {}; });
  refused([](ReduceTask& t) { t.destinations = {}; });
  refused([](ReduceTask& t) { t.type = heddleNumTypes; });
  refused([](ReduceTask& t) { t.divide_by = 0; });
  const std::byte* const two[] = {memory, memory};
  refused([&](ReduceTask& t) {
    t.sources = two;
    t.op = heddleNumOps;
  });
}

}  // namespace
}  // namespace heddle::device
