#include "nccl-net-ofi/devices.hpp"

#include <climits>
#include <set>

#include "catch.hpp"
#include "nccl-net-ofi/abi/common.hpp"
#include "support/base_errors.hpp"

namespace heddle::nccl_net {
namespace {

using Catch::Matchers::Contains;
using transport::fabric::Adapter;

std::vector<Adapter> adapters(int count, double gigabits = 100) {
  std::vector<Adapter> all;
  for (int i = 0; i < count; ++i) {
    all.emplace_back();
    all.back().name = fmt::format("a{}", i);
    all.back().gigabits = gigabits;
  }
  return all;
}

base::Settings with(const std::string& devices, int grouped = 1) {
  base::Settings settings;
  settings.nccl_devices = devices;
  settings.nccl_max_recvs = grouped;
  return settings;
}

std::string why_not(DeviceList& list, std::vector<int> members) {
  return test::error_of([&] { list.merge(members); }, heddleInternalError);
}

}  // namespace

TEST_CASE("a device for each adapter") {
  DeviceList list(with("each", 4), "host", adapters(3));
  REQUIRE(list.found() == 3);
  std::set<std::string> names;
  std::set<std::uint64_t> guids;
  for (int i = 0; i < 3; ++i) {
    const Device& one = list.at(i);
    names.insert(one.name);
    guids.insert(one.guid);
    CHECK(one.megabits == 100000);
    CHECK(one.members == std::vector<int>{i});
    CHECK(one.most_grouped == 4);
    CHECK(one.pci_path == nullptr);
    CHECK(one.pointer_kinds == nccl_abi::kPointerHost);
  }
  CHECK(names == std::set<std::string>{"a0", "a1", "a2"});
  CHECK(guids.size() == 3);
  CHECK_THAT(test::error_of([&] { list.at(3); }, heddleInternalError),
             Contains("there is no device 3: they are 0 to 2"));
}

TEST_CASE("one device of all adapters") {
  DeviceList list(with("all"), "host", adapters(4));
  REQUIRE(list.found() == 1);
  CHECK(list.at(0).adapters == std::vector<std::string>{"a0", "a1", "a2", "a3"});
  CHECK(list.at(0).megabits == 400000);
  CHECK(std::string(list.at(0).name) == "a0+3");
}

TEST_CASE("the guid is of the host and the adapters, and always the same") {
  const auto guid = [](const std::string& host, int count) {
    return DeviceList(with("all"), host, adapters(count)).at(0).guid;
  };
  CHECK(guid("a", 2) == guid("a", 2));
  CHECK(guid("a", 2) != guid("b", 2));
  CHECK(guid("a", 2) != guid("a", 3));
}

TEST_CASE("speeds that nobody knows, or that are past int") {
  CHECK(DeviceList(with("all"), "host", adapters(2, 0)).at(0).megabits == 20000);
  CHECK(DeviceList(with("all"), "host", adapters(3, 1e9)).at(0).megabits == INT_MAX);
}

TEST_CASE("a device made of devices") {
  DeviceList list(with("each"), "host", adapters(4));
  const int made = list.merge(std::vector<int>{2, 0});
  CHECK(made == 4);
  CHECK(list.found() == 4);
  const Device& device = list.at(made);
  CHECK(std::string(device.name) == "a2+a0");
  CHECK(device.adapters == std::vector<std::string>{"a2", "a0"});
  CHECK(device.members == std::vector<int>{2, 0});
  CHECK(device.megabits == 200000);
  CHECK(device.guid != list.at(2).guid);
  CHECK(list.merge(std::vector<int>{2, 0}) == made);  // as each communicator asks
  CHECK(list.merge(std::vector<int>{1, 3}) == 5);
  CHECK(list.merge(std::vector<int>{3}) == 3);
  CHECK_THAT(why_not(list, {0, made}), Contains("is made of others itself"));
  CHECK_THAT(why_not(list, {0, 9}), Contains("there is no device 9"));
  CHECK_THAT(why_not(list, {0, -1}), Contains("there is no device -1"));
  CHECK_THAT(why_not(list, {1, 2, 1}), Contains("device 1 was named twice"));
  CHECK_THAT(why_not(list, {}), Contains("of no devices"));
}

TEST_CASE("a device has as many adapters as the wire knows rails") {
  DeviceList list(with("all"), "host", adapters(40));
  REQUIRE(list.found() == 2);
  CHECK(list.at(0).adapters.size() == 32);
  CHECK_THAT(why_not(list, {0, 1}), Contains("a device of 40 adapters"));
}

TEST_CASE("texts outlive the list") {
  const char* name = nullptr;
  { name = DeviceList(with("all"), "host", adapters(2)).at(0).name; }
  CHECK(std::string(name) == "a0+1");
}

}  // namespace heddle::nccl_net
