// Machines that are not here.
#include "nccl-net-ofi/grouping.hpp"

#include <fmt/format.h>

#include "catch.hpp"

namespace heddle::nccl_net {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

Place at(const std::string& below, int numa) { return {"/sys/devices/" + below, numa}; }

Groups next_to(const std::vector<Place>& adapters, const std::vector<Place>& gpus) {
  return group_adapters(adapters, gpus, Grouping::next_to_gpus, 32);
}

}  // namespace

TEST_CASE("one adapter and two GPUs below each root: a device for each adapter") {
  std::vector<Place> adapters, gpus;
  for (int i = 0; i < 4; ++i) {
    const std::string root = fmt::format("pci0000:{0}0/0000:{0}0:", i + 1);
    adapters.push_back(at(root + "1b.0", i / 2));
    gpus.push_back(at(root + "1c.0", i / 2));
    gpus.push_back(at(root + "1d.0", i / 2));
  }
  CHECK(next_to(adapters, gpus) == Groups{{0}, {1}, {2}, {3}});
}

TEST_CASE("four adapters and a GPU below each switch: eight devices of four") {
  std::vector<Place> adapters, gpus;
  Groups expected;
  for (int i = 0; i < 8; ++i) {
    const std::string bridge = fmt::format("pci0000:{}0/0000:{}0:01.0/", i / 4 + 1, i);
    expected.emplace_back();
    for (int k = 0; k < 4; ++k) {
      expected.back().push_back(adapters.size());
      adapters.push_back(at(bridge + fmt::format("0000:{}1:00.{}", i, k), i / 4));
    }
    gpus.push_back(at(bridge + fmt::format("0000:{}2:00.0", i), i / 4));
  }
  CHECK(next_to(adapters, gpus) == expected);
  CHECK(group_adapters(adapters, gpus, Grouping::all, 32).size() == 1);
  CHECK(group_adapters(adapters, gpus, Grouping::each, 32).size() == 32);
}

TEST_CASE("roots of their own: the NUMA node decides") {
  const std::vector<Place> gpus = {at("pci0000:10/a", 0), at("pci0000:20/b", 1)};
  const std::vector<Place> adapters = {at("pci0000:30/c", 1), at("pci0000:40/d", 0),
                                       at("pci0000:50/e", 1), at("pci0000:60/f", -1), Place{}};
  CHECK(next_to(adapters, gpus) == Groups{{0, 2}, {1}, {3, 4}});
}

TEST_CASE("no GPU, or nothing known of anything: one device") {
  const std::vector<Place> adapters = {at("pci0000:10/a", 0), at("pci0000:20/b", 1), Place{}};
  CHECK(next_to(adapters, {}) == Groups{{0, 1, 2}});
  CHECK(next_to({}, {}).empty());
}

TEST_CASE("no device has more adapters than allowed") {
  const std::vector<Place> adapters(5);
  CHECK(group_adapters(adapters, {}, Grouping::all, 2) == Groups{{0, 1}, {2, 3}, {4}});
}

TEST_CASE("the values of HEDDLE_NCCL_DEVICES") {
  CHECK(grouping_of("auto") == Grouping::next_to_gpus);
  CHECK(grouping_of("each") == Grouping::each);
  CHECK(grouping_of("all") == Grouping::all);
}

}  // namespace heddle::nccl_net
