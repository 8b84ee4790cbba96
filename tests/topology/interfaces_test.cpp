// This machine's real interfaces: facts that hold on any machine.
#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "catch.hpp"
#include "topology/interfaces.hpp"

using namespace heddle;
using namespace heddle::topology;

TEST_CASE("every interface of this machine is listed once") {
  const auto all = interfaces();
  std::set<std::string> names;
  for (const auto& one : all) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(!one.name.empty());
    CHECK((one.speed_mbit == -1 || one.speed_mbit > 0));
    CHECK(one.numa_node >= -1);
    CHECK(one.pci == pci_of_interface(one.name));
  }
  CHECK(names.count("lo") == 1);
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net"))
    if (entry.is_directory()) CHECK(names.count(entry.path().filename()) == 1);
}

TEST_CASE("addresses read back as the numeric text that they carry") {
  for (const auto& interface : interfaces()) {
    for (const auto& address : interface.addresses) {
      INFO(interface.name << " " << address.text);
      addrinfo hints{};
      hints.ai_flags = AI_NUMERICHOST;
      addrinfo* result = nullptr;
      REQUIRE(getaddrinfo(address.text.c_str(), nullptr, &hints, &result) == 0);
      CHECK(result->ai_family == address.storage.ss_family);
      REQUIRE(result->ai_addrlen == address.size());
      if (address.storage.ss_family == AF_INET6) {
        const auto* read = reinterpret_cast<const sockaddr_in6*>(result->ai_addr);
        const auto* kept = reinterpret_cast<const sockaddr_in6*>(&address.storage);
        CHECK(std::equal(read->sin6_addr.s6_addr, read->sin6_addr.s6_addr + 16,
                         kept->sin6_addr.s6_addr));
        CHECK(read->sin6_scope_id == kept->sin6_scope_id);
      } else {
        const auto* read = reinterpret_cast<const sockaddr_in*>(result->ai_addr);
        const auto* kept = reinterpret_cast<const sockaddr_in*>(&address.storage);
        CHECK(read->sin_addr.s_addr == kept->sin_addr.s_addr);
      }
      freeaddrinfo(result);
    }
  }
}

TEST_CASE("loopback is recognised and usable when named") {
  base::Settings settings;
  settings.iface = "lo";
  const auto used = usable_interfaces(settings);
  REQUIRE(used.size() == 1);
  CHECK(used[0].loopback);
  CHECK(!used[0].bridge_like);
  CHECK(used[0].pci.empty());
  const auto texts = bootstrap_addresses(settings, 4711);
  CHECK(std::find(texts.begin(), texts.end(), "127.0.0.1:4711") != texts.end());
}

TEST_CASE("loopback is advertised only by a machine that has nothing else") {
  const auto used = usable_interfaces({});
  REQUIRE(!used.empty());
  const bool only_loopback = used.front().loopback;
  for (const auto& one : used) CHECK(one.loopback == only_loopback);
  for (const auto& text : bootstrap_addresses({}, 80)) {
    INFO(text);
    CHECK((text.starts_with("127.") || text.starts_with("[::1]")) == only_loopback);
    CHECK(text.ends_with(":80"));
  }
}

TEST_CASE("a wrong HEDDLE_IFACE stops the real machine too") {
  base::Settings settings;
  settings.iface = "no-such-card";
  CHECK_THROWS_AS(usable_interfaces(settings), base::Error);
  CHECK_THROWS_AS(bootstrap_addresses(settings, 80), base::Error);
}

TEST_CASE("what is not a PCI address has no NUMA node") {
  for (const std::string text :
       {"", "0000", "../../../etc", "0000:00:03.x", "0000:00:03:0", "eth0", "ffff:ff:ff.7"})
    CHECK(numa_of_pci(text) == -1);
  CHECK(pci_of_interface("lo").empty());
  CHECK(pci_of_interface("no-such-card").empty());
  CHECK(pci_of_interface("").empty());
}
