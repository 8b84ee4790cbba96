// What is asked of libfabric, and what is said when it has not got it.
#include "transport/fabric/provider.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>
#include <set>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "catch.hpp"
#include "transport/fabric/rail.hpp"

using namespace heddle;
using namespace heddle::transport::fabric;

namespace {

base::Settings asking_for(const std::string& provider) {
  base::Settings settings;
  settings.provider = provider;
  return settings;
}

std::vector<std::string> all_interfaces() {
  ifaddrs* list = nullptr;
  REQUIRE(getifaddrs(&list) == 0);
  std::set<std::string> names;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) names.insert(one->ifa_name);
  freeifaddrs(list);
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("no-silent-fallback") {
  const std::vector<std::string> lo = {"lo"};
  for (const std::string name : {"no-such-provider", "udp", "psm9"}) {
    const auto start = base::Clock::now();
    try {
      choose_provider(asking_for(name), lo);
      FAIL(name << " was taken for something else");
    } catch (const base::Error& error) {
      CHECK(error.code() == heddleInvalidArgument);
      const std::string text = error.what();
      INFO(text);
      CHECK_THAT(text, Catch::Matchers::Contains("HEDDLE_PROVIDER=" + name));
      CHECK_THAT(text, Catch::Matchers::Contains("(usable: lo)"));
      CHECK_THAT(text, Catch::Matchers::Contains("(not usable: "));
    }
    CHECK(base::seconds_since(start) < 5);
  }
}

TEST_CASE("a machine without the adapter says so, and takes no other") {
  const std::vector<std::string> lo = {"lo"};
  const auto reports = survey(base::Settings{}, lo);
  const bool has_efa = std::ranges::any_of(
      reports, [](const ProviderReport& r) { return r.name == "efa" && r.usable; });
  if (has_efa) {
    CHECK(choose_provider(asking_for("efa"), lo).name == "efa");
    CHECK(choose_provider(asking_for("auto"), lo).name == "efa");
  } else {
    CHECK_THROWS_AS(choose_provider(asking_for("efa"), lo), base::Error);
  }
}

TEST_CASE("a name is honoured exactly; tcp is a family") {
  const std::vector<std::string> lo = {"lo"};
  int tried = 0;
  for (const ProviderReport& report : survey(base::Settings{}, lo)) {
    if (!report.usable || report.name == "tcp") continue;
    CHECK(choose_provider(asking_for(report.name), lo).name == report.name);
    ++tried;
  }
  CHECK(tried > 0);
  const ChosenProvider tcp = choose_provider(asking_for("tcp"), lo);
  CHECK(tcp.name == (fi_version() >= FI_VERSION(1, 18) ? "tcp" : "net"));
  CHECK(tcp.rma);
  base::Settings without = asking_for("tcp");
  without.rma = false;
  CHECK_FALSE(choose_provider(without, lo).rma);
}

TEST_CASE("device memory is told as libfabric grants it") {
  const auto grants = [](const std::string& name, std::uint64_t caps) {
    const Info hints(fi_allocinfo());
    hints->caps = FI_MSG | FI_HMEM | caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
    hints->fabric_attr->prov_name = strdup(name.c_str());
    fi_info* list = nullptr;
    const int rc = fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), nullptr, nullptr, 0,
                              hints.get(), &list);
    return Info(list) != nullptr && rc == 0;
  };
  int clear = 0;
  for (const ProviderReport& report : survey(base::Settings{}, all_interfaces())) {
    if (!report.usable) continue;
    INFO(report.name);
    const bool writes = grants(report.name, FI_RMA), tagged = grants(report.name, FI_TAGGED);
    if (writes != tagged) continue;
    CHECK(report.device_memory == writes);
    ++clear;
  }
  CHECK(clear > 0);
}

TEST_CASE("provider-lists-twice") {
  const std::vector<std::string> interfaces = all_interfaces();
  for (const ProviderReport& report : survey(base::Settings{}, interfaces)) {
    INFO(report.name);
    std::set<std::string> names;
    for (const Adapter& adapter : report.adapters) CHECK(names.insert(adapter.name).second);
    CHECK(report.usable == !report.adapters.empty());
    CHECK(report.usable == report.why_not.empty());
  }
  CHECK(choose_provider(asking_for("tcp"), std::vector<std::string>{"lo"}).adapters.size() == 1);
}

TEST_CASE("only allowed interfaces are used, loopback when there is no other") {
  std::vector<std::string> real;
  for (const ProviderReport& report : survey(base::Settings{}, all_interfaces()))
    if (report.name == choose_provider(asking_for("tcp"), std::vector<std::string>{"lo"}).name)
      for (const Adapter& adapter : report.adapters) real.push_back(adapter.interface_name);
  for (const std::string& name : real) {
    const std::vector<std::string> allowed = {"lo", name};
    const ChosenProvider chosen = choose_provider(asking_for("tcp"), allowed);
    REQUIRE(chosen.adapters.size() == 1);
    CHECK(chosen.adapters[0].adapter.interface_name == name);
  }
  const std::vector<std::string> lo = {"lo"};
  CHECK(choose_provider(asking_for("tcp"), lo).adapters.at(0).adapter.loopback);
  const std::vector<std::string> none = {"no-such-interface"};
  CHECK_THROWS_WITH(choose_provider(asking_for("tcp"), none),
                    Catch::Matchers::Contains("the interfaces allowed are no-such-interface"));
}

TEST_CASE("adapters are ordered by PCI address, else by name with numbers as numbers") {
  const auto named = [](const std::string& name) {
    Adapter adapter;
    adapter.name = name;
    return adapter;
  };
  Adapter bus79 = named("rdmap79s0"), bus113 = named("rdmap113s0");
  CHECK(adapter_before(bus79, bus113));
  CHECK_FALSE(adapter_before(bus113, bus79));
  bus79.pci = "0000:c8:00.0";
  bus113.pci = "0000:71:00.0";
  CHECK(adapter_before(bus113, bus79));
  CHECK(adapter_before(bus79, named("eth0")));
  CHECK(adapter_before(named("eth1"), named("eth10")));
  CHECK_FALSE(adapter_before(named("eth1"), named("eth1")));
}

TEST_CASE("requested-key-zero") {
  const std::vector<std::string> lo = {"lo"};
  int tried = 0;
  for (const std::string name : {"tcp", "tcp;ofi_rxm", "sockets", "shm"}) {
    INFO(name);
    ChosenProvider chosen;
    try {
      chosen = choose_provider(asking_for(name), lo);
    } catch (const base::Error&) {
      continue;
    }
    ++tried;
    Rail rail(chosen.adapters[0], 0, {4096});
    const base::MappedMemory memory = map_memory(8 * 4096);
    std::vector<MemoryRegion> regions;
    std::set<std::uint64_t> keys;
    for (int i = 0; i < 8; ++i) {
      regions.push_back(rail.register_memory(memory.data() + i * 4096, 4096, Access::remote_write));
      CHECK(keys.insert(regions.back().key()).second);
    }
  }
  CHECK(tried > 0);
}
