// What applications see, and what they may ask for.
#include <cstring>
#include <set>

#include "address.hpp"
#include "client.hpp"

using namespace client;

namespace {

int count(const Info& list) {
  int number = 0;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) ++number;
  return number;
}

}  // namespace

TEST_CASE("adapters look like p4d's, and are marked") {
  const Setting setting;
  const Info list = ask(good_hints().get());
  REQUIRE(count(list) == 4);
  CHECK(std::string(list->fabric_attr->prov_name) == "efa");
  std::vector<std::string> domains;
  std::vector<int> buses;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    domains.emplace_back(info->domain_attr->name);
    REQUIRE(info->nic != nullptr);
    CHECK(std::string(info->nic->device_attr->driver) == "emulated");
    CHECK(std::string(info->nic->device_attr->vendor_id) == "emulated");
    CHECK(std::string(info->nic->device_attr->name) + "-rdm" == info->domain_attr->name);
    CHECK(info->nic->link_attr->speed == 100'000'000'000);
    CHECK(info->nic->bus_attr->bus_type == FI_BUS_PCI);
    buses.push_back(info->nic->bus_attr->attr.pci.bus_id);
    CHECK(info->addr_format == FI_ADDR_EFA);
    CHECK(info->src_addrlen == 32);
  }
  CHECK(domains == std::vector<std::string>{"rdmap16s27-rdm", "rdmap32s27-rdm", "rdmap144s27-rdm",
                                            "rdmap160s27-rdm"});
  CHECK(buses == std::vector<int>{16, 32, 144, 160});
}

TEST_CASE("a copy of a description is a whole one") {
  const Setting setting;
  Info list = ask(good_hints().get());
  const Info copy(fi_dupinfo(list.get()));
  list.reset();
  CHECK(std::string(copy->nic->device_attr->name) == "rdmap16s27");
  CHECK(std::string(copy->nic->link_attr->network_type) == "Ethernet");
}

TEST_CASE("up to 32 adapters, each with a name of its own") {
  const Setting setting;
  for (const int adapters : {1, 4, 5, 32}) {
    setenv("HEDDLE_EMULATED_EFA", std::to_string(adapters).c_str(), 1);
    const Info list = ask(good_hints().get());
    std::set<std::string> names;
    for (const fi_info* info = list.get(); info != nullptr; info = info->next)
      names.insert(info->domain_attr->name);
    CHECK(names.size() == static_cast<std::size_t>(adapters));
  }
  for (const char* wrong : {"-1", "33", "four", "4x"}) {
    setenv("HEDDLE_EMULATED_EFA", wrong, 1);
    CHECK(ask(good_hints().get()) == nullptr);
  }
}

TEST_CASE("no adapters are none, and nothing to complain of") {
  const Setting setting;
  setenv("HEDDLE_EMULATED_EFA", "0", 1);
  CHECK(ask(good_hints().get()) == nullptr);
  CHECK_NOTHROW(emulated_efa::read_config());
  setenv("HEDDLE_EMULATED_EFA", "33", 1);
  CHECK_THROWS_WITH(emulated_efa::read_config(),
                    Catch::Matchers::Contains("33: a number from 0 to 32 is allowed"));
}

// The provider underneath is hidden then, but not from a provider above it.
TEST_CASE("an application that asks for efa alone gets it") {
  const char* const only = std::getenv("FI_PROVIDER");
  if (only == nullptr) return;  // CTest runs this once with it
  CHECK(std::string(only) == "efa");
  const Setting setting;
  CHECK(ask(nullptr) != nullptr);
  for (Info list = ask(nullptr); list != nullptr; list = Info(std::exchange(list->next, nullptr)))
    CHECK(std::string(list->fabric_attr->prov_name) == "efa");
  Pair pair;
  CHECK(pair.write(0, 4096, 1) == 0);
  CHECK(pair.next_from().status == 0);
}

TEST_CASE("hints that the real provider cannot meet find nothing") {
  const Setting setting;
  REQUIRE(ask(good_hints().get()) != nullptr);
  const auto refused = [](const std::function<void(fi_info&)>& change) {
    const Info hints = good_hints();
    change(*hints);
    return ask(hints.get()) == nullptr;
  };
  for (const int bit : {FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY})
    CHECK(refused([&](fi_info& hints) { hints.domain_attr->mr_mode &= ~bit; }));
  CHECK(refused([](fi_info& hints) { hints.domain_attr->cq_data_size = 8; }));
  CHECK(refused([](fi_info& hints) { hints.tx_attr->msg_order = FI_ORDER_SAS; }));
  CHECK(refused([](fi_info& hints) { hints.rx_attr->msg_order = FI_ORDER_WAW; }));
  CHECK(refused([](fi_info& hints) { hints.tx_attr->inject_size = 4097; }));
  CHECK(refused([](fi_info& hints) { hints.tx_attr->rma_iov_limit = 2; }));
  CHECK(refused([](fi_info& hints) { hints.caps |= FI_RMA_EVENT; }));
  CHECK(refused([](fi_info& hints) { hints.caps |= FI_FENCE; }));
  CHECK(refused([](fi_info& hints) { hints.caps |= FI_HMEM; }));
  CHECK(refused([](fi_info& hints) { hints.ep_attr->type = FI_EP_MSG; }));
  CHECK(refused([](fi_info& hints) { hints.addr_format = FI_SOCKADDR_IN; }));
  CHECK(refused([](fi_info& hints) { hints.domain_attr->name = strdup("eth0"); }));
}

TEST_CASE("efa-direct is another fabric: no tags, a context needed, packets of one MTU") {
  const Setting setting("", "0", "efa-direct");
  CHECK(ask(good_hints(FI_MSG | FI_TAGGED).get()) == nullptr);
  const Info hints = good_hints();
  hints->mode = 0;
  CHECK(ask(hints.get()) == nullptr);
  const Info list = ask(good_hints().get());
  REQUIRE(list != nullptr);
  CHECK(std::string(list->fabric_attr->name) == "efa-direct");
  CHECK(list->tx_attr->inject_size == 32);
}

TEST_CASE("both fabrics: efa-direct of every adapter comes first") {
  const Setting setting("", "0", "both");
  const Info list = ask(good_hints().get());
  REQUIRE(count(list) == 8);
  CHECK(std::string(list->fabric_attr->name) == "efa-direct");
  CHECK(std::string(list->next->next->next->next->fabric_attr->name) == "efa");
  CHECK(count(ask(good_hints(FI_MSG | FI_TAGGED).get())) == 4);
}

TEST_CASE("a hint may name one adapter") {
  const Setting setting;
  const Info hints = good_hints();
  hints->domain_attr->name = strdup("rdmap144s27-rdm");
  const Info list = ask(hints.get());
  REQUIRE(count(list) == 1);
  CHECK(std::string(list->domain_attr->name) == "rdmap144s27-rdm");
}

TEST_CASE("addresses have 32 bytes and a text") {
  const Setting setting;
  Client one(0), other(2);
  const auto address = one.address();
  CHECK(address.size() == 32);
  CHECK(address != other.address());
  char text[96];
  std::size_t room = sizeof text;
  fi_av_straddr(one.av(), address.data(), text, &room);
  CHECK_THAT(std::string(text), Catch::Matchers::StartsWith("fi_addr_efa://[fe80::"));
  std::vector<std::uint8_t> nonsense(32, 1);
  fi_addr_t place;
  CHECK(fi_av_insert(one.av(), nonsense.data(), 1, &place, 0, nullptr) == 0);
  CHECK(place == FI_ADDR_NOTAVAIL);
}

TEST_CASE("a script with an error opens nothing") {
  const Setting setting("dead everywhere at 1s");
  CHECK(ask(good_hints().get()) == nullptr);
}
