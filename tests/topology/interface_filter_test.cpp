#include "base/error.hpp"
#include "catch.hpp"
#include "made_up.hpp"
#include "topology/interfaces.hpp"

using namespace heddle;
using namespace heddle::topology;
using made_up::docker0;
using made_up::interface;
using made_up::lo;
using Names = std::vector<std::string>;

namespace {

std::vector<Interface> used(const std::vector<Interface>& all, std::string_view filter) {
  std::vector<Interface> result;
  for (const auto& one : judge_interfaces(all, filter))
    if (one.unused_because.empty()) result.push_back(one.interface);
  return result;
}

Names names(const std::vector<Interface>& all, std::string_view filter = "") {
  Names result;
  for (const auto& one : used(all, filter)) result.push_back(one.name);
  return result;
}

Names advertised(const std::vector<Interface>& all, std::string_view filter = "") {
  Names result;
  for (const auto& address : advertised_addresses(used(all, filter)))
    result.push_back(address.text);
  return result;
}

// The text with which a filter is refused; it must be an invalid argument.
std::string refusal(const std::vector<Interface>& all, std::string_view filter) {
  try {
    judge_interfaces(all, filter);
  } catch (const base::Error& error) {
    CHECK(error.code() == heddleInvalidArgument);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Interface down(Interface made) {
  made.up = false;
  return made;
}

}  // namespace

TEST_CASE("the good interface is used though lo and docker0 are listed first") {
  const std::vector<Interface> all = {lo(), docker0(), interface("eth0", {"10.0.0.5"}, 100)};
  CHECK(names(all) == Names{"eth0"});
  CHECK(advertised(all) == Names{"10.0.0.5"});
}

TEST_CASE("loopback is used when there is nothing else") {
  CHECK(names({lo()}) == Names{"lo"});
  CHECK(used({lo()}, "").front().loopback);
  CHECK(advertised({lo()}) == Names{"127.0.0.1", "::1"});
  CHECK(names({lo(), docker0()}) == Names{"lo"});
  CHECK(names({docker0(), lo(), down(interface("eth0", {"10.0.0.5"}))}) == Names{"lo"});
  CHECK(names({lo(), interface("eth0", {})}) == Names{"lo"});
}

TEST_CASE("nothing up leaves nothing") {
  CHECK(names({}).empty());
  CHECK(names({down(lo())}).empty());
  CHECK(names({down(lo()), docker0()}).empty());
  CHECK(names({down(lo())}, "^docker0").empty());
  CHECK(advertised_addresses({}).empty());
}

TEST_CASE("machines without IPv4") {
  CHECK(advertised({lo(), interface("eth0", {"fd00::2", "fe80::2%eth0"})}) ==
        Names{"fd00::2", "fe80::2%eth0"});
  CHECK(advertised({lo(), interface("eth0", {"fe80::2%eth0"})}) == Names{"fe80::2%eth0"});
}

TEST_CASE("an interface counts once however many addresses it has") {
  const auto eth0 = interface("eth0", {"10.0.0.5", "10.0.0.6", "fd00::5", "fe80::5%eth0"});
  CHECK(names({eth0, lo()}) == Names{"eth0"});
  CHECK(names({eth0, lo()}, "eth0,eth0") == Names{"eth0"});
}

TEST_CASE("addresses that other hosts can use best come first") {
  const auto eth0 = interface("eth0", {"10.0.0.5", "fd00::5", "fe80::5%eth0"}, 100);
  const auto eth1 = interface("eth1", {"10.0.1.5", "169.254.3.4", "fe80::6%eth1"}, 10);
  CHECK(advertised({lo(), eth1, eth0}) ==
        Names{"10.0.0.5", "10.0.1.5", "fd00::5", "169.254.3.4", "fe80::5%eth0", "fe80::6%eth1"});
}

TEST_CASE("default order is by speed, PCI address and name") {
  const std::vector<Interface> all = {
      interface("eth10", {"10.0.0.1"}),
      interface("eth9", {"10.0.0.8"}),
      interface("slow", {"10.0.0.2"}, 1000, "0000:01:00.0"),
      interface("b", {"10.0.0.3"}, 100000, "10000:00:00.0"),
      interface("c", {"10.0.0.4"}, 100000, "0000:81:00.0"),
      interface("e", {"10.0.0.5"}, 100000, "0000:02:00.1"),
      interface("d", {"10.0.0.6"}, 100000, "0000:02:00.1"),
      interface("a", {"10.0.0.7"}, 100000),
  };
  CHECK(names(all) == Names{"d", "e", "c", "b", "a", "slow", "eth9", "eth10"});
}

TEST_CASE("a filter's names are used in its order, whatever they are") {
  const std::vector<Interface> all = {lo(), docker0(), interface("eth0", {"10.0.0.5"}, 100),
                                      interface("eth1", {"10.0.1.5"}, 1000)};
  CHECK(names(all, "eth0,eth1") == Names{"eth0", "eth1"});
  CHECK(names(all, "eth0") == Names{"eth0"});
  CHECK(names(all, "docker0") == Names{"docker0"});
  CHECK(names(all, "lo,eth1") == Names{"lo", "eth1"});
  CHECK(advertised(all, "lo") == Names{"127.0.0.1", "::1"});
}

TEST_CASE("an excluding filter keeps the rest of the default") {
  const std::vector<Interface> all = {lo(), docker0(), interface("eth0", {"10.0.0.5"}, 100),
                                      interface("eth1", {"10.0.1.5"}, 1000)};
  CHECK(names(all, "^eth1") == Names{"eth0"});
  CHECK(names(all, "^lo,docker0") == Names{"eth1", "eth0"});
  CHECK(names(all, "^no-such") == Names{"eth1", "eth0"});
  CHECK(names({lo(), docker0()}, "^docker0") == Names{"lo"});
}

TEST_CASE("names match whole, never by prefix") {
  const std::vector<Interface> all = {lo(), interface("eth0", {"10.0.0.5"}),
                                      interface("eth01", {"10.0.1.5"})};
  CHECK(names(all, "eth0") == Names{"eth0"});
  CHECK(names(all, "^eth0") == Names{"eth01"});
  CHECK(has(refusal(all, "eth"), "there is no interface \"eth\""));
}

TEST_CASE("bad-interface-name") {
  const std::vector<Interface> all = {lo(), docker0(), interface("eth0", {"10.0.0.5"}),
                                      down(interface("eth1", {"10.0.1.5"})), interface("eth2", {})};
  const std::string there =
      "the interfaces here are lo (loopback), docker0 (bridge), eth0, eth1 (down), eth2 (no "
      "address)";
  const auto [filter, why] = GENERATE(table<std::string, std::string>({
      {"ib0", "there is no interface \"ib0\""},
      {"eth0,ib0", "there is no interface \"ib0\""},
      {"eth0, lo", "there is no interface \" lo\""},
      {" eth0", "there is no interface \" eth0\""},
      {"ETH0", "there is no interface \"ETH0\""},
      {"eth0,^lo", "there is no interface \"^lo\""},
      {"10.0.0.5", "there is no interface \"10.0.0.5\""},
      {"eth0,", "between commas is empty"},
      {",eth0", "between commas is empty"},
      {",", "between commas is empty"},
      {"^", "between commas is empty"},
      {"^,", "between commas is empty"},
      {"^eth0", "excludes every usable interface"},
      {"^eth0,lo,docker0", "excludes every usable interface"},
      {"eth1", "no interface it names is up"},
      {"eth2,eth1", "no interface it names is up"},
  }));
  INFO(filter);
  const std::string text = refusal(all, filter);
  INFO(text);
  CHECK(has(text, "HEDDLE_IFACE=" + filter + ": "));
  CHECK(has(text, why));
  CHECK(has(text, there));
}

TEST_CASE("excluding loopback on a machine that has nothing else is refused") {
  CHECK(has(refusal({lo()}, "^lo"), "excludes every usable interface"));
  CHECK(has(refusal({lo(), docker0()}, "^lo"), "excludes every usable interface"));
  CHECK(has(refusal({}, "eth0"), "the interfaces here are none"));
}

TEST_CASE("each interface that is not used says why") {
  const std::vector<Interface> all = {lo(), docker0(), down(interface("eth1", {"10.0.1.5"})),
                                      interface("eth2", {}), interface("eth0", {"10.0.0.5"})};
  std::vector<std::pair<std::string, std::string>> judged;
  for (const auto& one : judge_interfaces(all, ""))
    judged.emplace_back(one.interface.name, one.unused_because);
  REQUIRE(judged.size() == all.size());
  CHECK(judged[0] == std::pair<std::string, std::string>("eth0", ""));
  const auto why = [&](const std::string& name) {
    for (const auto& [known, reason] : judged)
      if (known == name) return reason;
    return std::string("missing");
  };
  CHECK(why("lo") == "it is loopback");
  CHECK(why("docker0") == "it is of containers, virtual machines or a bridge");
  CHECK(why("eth1") == "it is down");
  CHECK(why("eth2") == "it has no address");
}

TEST_CASE("a named interface that is down leaves the others in use") {
  const std::vector<Interface> all = {lo(), down(interface("eth1", {"10.0.1.5"})),
                                      interface("eth0", {"10.0.0.5"})};
  CHECK(names(all, "eth1,eth0") == Names{"eth0"});
  const auto judged = judge_interfaces(all, "eth1,eth0");
  REQUIRE(judged.size() == 3);
  CHECK(judged[1].unused_because == "it is down");
  CHECK(judged[2].unused_because == "HEDDLE_IFACE does not name it");
}
