// Every version of the interface, called as NCCL calls it, over connections in memory.
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "memory_comm.hpp"
#include "tables.hpp"

namespace heddle::nccl_net::testing {
namespace {

using Catch::Matchers::Contains;

#define ALL_VERSIONS                                                                   \
  nccl_abi::NetV5, nccl_abi::NetV6, nccl_abi::NetV7, nccl_abi::NetV8, nccl_abi::NetV9, \
      nccl_abi::NetV10, nccl_abi::NetV11, nccl_abi::NetV12

// A connected pair, and 64 bytes registered at each end.
template <typename Net>
struct Pair {
  explicit Pair(Driver<Net>& with) : driver(with) {
    REQUIRE(driver.init() == Result::success);
    driver.pair(0, &sender, &receiver, &listener);
    REQUIRE(net().closeListen(listener) == Result::success);
    REQUIRE(net().regMr(sender, out, sizeof out, nccl_abi::kPointerHost, &out_memory) ==
            Result::success);
    REQUIRE(net().regMr(receiver, in, sizeof in, nccl_abi::kPointerHost, &in_memory) ==
            Result::success);
  }
  ~Pair() {
    if (sender != nullptr) net().closeSend(sender);
    if (receiver != nullptr) net().closeRecv(receiver);
    driver.finalize();
  }
  Net& net() { return driver.net(); }

  Driver<Net>& driver;
  void *sender, *receiver, *listener, *out_memory, *in_memory;
  char out[64] = "what is sent", in[64] = {};
};

}  // namespace

TEMPLATE_TEST_CASE("a message goes over every version", "", ALL_VERSIONS) {
  Driver driver(table_of<TestType>());
  CHECK(std::string(driver.net().name) == "Heddle");
  Pair<TestType> pair(driver);

  void* request = nullptr;
  // Nobody receives yet: that is no failure.
  REQUIRE(driver.send(pair.sender, pair.out, 13, 5, pair.out_memory, &request) == Result::success);
  CHECK(request == nullptr);

  // What NCCL leaves in the request is a mark and no address.
  void* received = reinterpret_cast<void*>(nccl_abi::kOptionalReceiveCompletion);
  REQUIRE(driver.receive(pair.receiver, {pair.in}, {sizeof pair.in}, {5}, {pair.in_memory},
                         &received) == Result::success);
  REQUIRE(received != nullptr);
  REQUIRE(driver.send(pair.sender, pair.out, 13, 5, pair.out_memory, &request) == Result::success);
  REQUIRE(request != nullptr);
  int size = 0;
  CHECK(driver.wait(received, &size) == Result::success);
  CHECK(size == 13);
  CHECK(driver.wait(request, nullptr) == Result::success);
  CHECK(std::string(pair.in) == "what is sent");

  // Of nothing, and without what it would be in.
  received = nullptr;
  REQUIRE(driver.receive(pair.receiver, {nullptr}, {0}, {5}, {nullptr}, &received) ==
          Result::success);
  REQUIRE(driver.send(pair.sender, nullptr, 0, 5, nullptr, &request) == Result::success);
  CHECK(driver.wait(received, &size) == Result::success);
  CHECK(size == 0);
  CHECK(driver.wait(request, &size) == Result::success);

  void* data = pair.in;
  int bytes = 13;
  void* flushed = &size;
  CHECK(driver.net().iflush(pair.receiver, 1, &data, &bytes, &pair.in_memory, &flushed) ==
        Result::success);
  CHECK(flushed == nullptr);
}

TEMPLATE_TEST_CASE("every version tells of its devices", "", ALL_VERSIONS) {
  Driver driver(table_of<TestType>());
  REQUIRE(driver.init() == Result::success);
  int count = 0;
  REQUIRE(driver.net().devices(&count) == Result::success);
  REQUIRE(count > 0);
  using Properties = std::remove_pointer_t<decltype(
      []<typename P>(Result (*)(int, P*)) -> P* { return nullptr; }(driver.net().getProperties))>;
  Properties properties;
  std::memset(&properties, 0x5a, sizeof properties);
  REQUIRE(driver.net().getProperties(count - 1, &properties) == Result::success);
  CHECK(std::string(properties.name) != "");
  CHECK(properties.guid != 0);
  CHECK(properties.ptrSupport == nccl_abi::kPointerHost);
  CHECK(properties.speed > 0);
  CHECK(properties.port == 1);
  CHECK(properties.latency == 0);
  CHECK(properties.maxComms == 65536);
  CHECK(properties.maxRecvs == 1);
  if constexpr (requires { properties.netDeviceType; }) {
    CHECK(properties.netDeviceType == nccl_abi::NetDeviceType::host);
    CHECK(properties.netDeviceVersion == 0);
  }
  if constexpr (requires { properties.regIsGlobal; }) CHECK(properties.regIsGlobal == 0);
  if constexpr (requires { properties.vProps; }) {
    CHECK(properties.forceFlush == 0);
    CHECK(properties.vProps.ndevs == 1);
    CHECK(properties.vProps.devs[0] == count - 1);
    CHECK(properties.maxP2pBytes == std::size_t{1} << 30);
    CHECK(properties.maxCollBytes == std::size_t{1} << 30);
  }
  if constexpr (requires { properties.maxMultiRequestSize; })
    CHECK(properties.maxMultiRequestSize == 1);
  if constexpr (requires { properties.railId; }) {
    CHECK(properties.railId == -1);
    CHECK(properties.planeId == -1);
  }
  logged();
  CHECK(driver.net().getProperties(count, &properties) == Result::internal_error);
  CHECK_THAT(logged(), Contains("there is no device"));
  CHECK(driver.net().getProperties(-1, &properties) == Result::internal_error);
  CHECK(driver.net().getProperties(0, nullptr) == Result::internal_error);
  driver.finalize();
}

TEMPLATE_TEST_CASE("wrong handles are told and not followed", "", ALL_VERSIONS) {
  Driver driver(table_of<TestType>());
  Pair<TestType> pair(driver);
  auto& net = driver.net();
  void* request = nullptr;
  int done = 0;
  logged();

  CHECK(driver.send(nullptr, pair.out, 1, 0, pair.out_memory, &request) == Result::internal_error);
  CHECK_THAT(logged(), Contains("WARN NET/OFI isend: a null pointer was given for a comm that"));
  CHECK(driver.send(pair.receiver, pair.out, 1, 0, pair.out_memory, &request) ==
        Result::internal_error);
  CHECK_THAT(logged(), Contains("is a comm that receives, not a comm that sends"));
  CHECK(driver.send(pair.out, pair.out, 1, 0, pair.out_memory, &request) == Result::internal_error);
  CHECK_THAT(logged(), Contains("closed or never was one"));
  CHECK(driver.send(pair.sender, pair.out, 1, 0, nullptr, &request) == Result::internal_error);
  CHECK_THAT(logged(), Contains("null pointer was given for a registration"));
  CHECK(driver.send(pair.sender, pair.out, 1, 0, pair.in_memory, &request) ==
        Result::internal_error);
  CHECK_THAT(logged(), Contains("registered with another comm"));
  CHECK(driver.send(pair.sender, pair.out + 1, 64, 0, pair.out_memory, &request) ==
        Result::internal_error);
  CHECK_THAT(logged(), Contains("are not in what was registered: 64 bytes at"));
  CHECK(driver.send(pair.sender, pair.in, 1, 0, pair.out_memory, &request) ==
        Result::internal_error);
  CHECK(driver.send(pair.sender, pair.out, 1, 0, pair.out_memory, nullptr) ==
        Result::internal_error);
  CHECK(driver.receive(pair.sender, {pair.in}, {1}, {0}, {pair.in_memory}, &request) ==
        Result::internal_error);
  logged();
  CHECK(driver.receive(pair.receiver, {pair.in, pair.in}, {1, 1}, {0, 0},
                       {pair.in_memory, pair.in_memory}, &request) == Result::internal_error);
  CHECK_THAT(logged(), Contains("2 buffers in one call; 1 to 1 are allowed"));
  CHECK(net.test(nullptr, &done, nullptr) == Result::internal_error);
  CHECK(net.test(nullptr, nullptr, nullptr) == Result::internal_error);
  CHECK(net.closeRecv(pair.sender) == Result::internal_error);
  CHECK(net.closeListen(pair.listener) == Result::internal_error);  // twice
  CHECK(net.deregMr(pair.sender, pair.in_memory) == Result::internal_error);
  CHECK(net.regMr(pair.listener, pair.in, 1, nccl_abi::kPointerHost, &request) ==
        Result::internal_error);
  logged();
  CHECK(net.regMr(pair.sender, pair.in, 1, 3, &request) == Result::internal_error);
  CHECK_THAT(logged(), Contains("memory of type 0x3"));
  CHECK(net.regMr(pair.sender, pair.in, 1, nccl_abi::kPointerCuda, &request) ==
        Result::internal_error);
  CHECK_THAT(logged(), Contains("host memory only"));
  CHECK(net.closeSend(nullptr) == Result::success);
  CHECK(net.closeRecv(nullptr) == Result::success);
  CHECK(net.closeListen(nullptr) == Result::success);

  const int before = memories();
  CHECK(net.deregMr(pair.sender, pair.out_memory) == Result::success);
  CHECK(net.deregMr(pair.sender, pair.out_memory) == Result::internal_error);
  CHECK(memories() == before - 1);
  CHECK(net.closeSend(pair.sender) == Result::success);
  logged();
  CHECK(net.closeSend(pair.sender) == Result::internal_error);
  CHECK_THAT(logged(), Contains("closeSend: 0x"));
  pair.sender = nullptr;
  // With its registration, which NCCL forgets when it gives up.
  CHECK(net.closeRecv(pair.receiver) == Result::success);
  pair.receiver = nullptr;
  CHECK(memories() == before - 2);
  CHECK(comms() == 0);
}

TEMPLATE_TEST_CASE("failures are NCCL's codes, and said once", "", ALL_VERSIONS) {
  Driver driver(table_of<TestType>());
  Pair<TestType> pair(driver);
  const auto failing = [&](int tag) {
    void* request = nullptr;
    const Result result = driver.send(pair.sender, pair.out, 1, tag, pair.out_memory, &request);
    return request == nullptr ? result : driver.wait(request, nullptr);
  };
  for (const int kind : {kFailing, kFailingLater}) {
    CHECK(failing(kind + heddleSystemError) == Result::system_error);
    CHECK(failing(kind + heddleInvalidUsage) == Result::invalid_usage);
    CHECK(failing(kind + heddleRemoteError) == Result::remote_error);
    CHECK(failing(kind + heddleTimeout) == Result::remote_error);
    CHECK(failing(kind + heddleInvalidArgument) == Result::internal_error);
    CHECK(failing(kind + heddleInternalError) == Result::internal_error);
  }
  failing(kFailing + heddleRemoteError);
  logged();
  failing(kFailingLater + heddleRemoteError);
  CHECK(logged() == "WARN NET/OFI test: told to fail later\n");
  failing(kFailingLater + heddleRemoteError);
  CHECK(logged().empty());

  // Longer than the receive: told, and the receive goes on waiting.
  void *received = nullptr, *request = nullptr;
  REQUIRE(driver.receive(pair.receiver, {pair.in}, {4}, {0}, {pair.in_memory}, &received) ==
          Result::success);
  CHECK(driver.send(pair.sender, pair.out, 5, 0, pair.out_memory, &request) ==
        Result::invalid_usage);
  REQUIRE(driver.send(pair.sender, pair.out, 4, 0, pair.out_memory, &request) == Result::success);
  CHECK(driver.wait(received, nullptr) == Result::success);
  CHECK(driver.wait(request, nullptr) == Result::success);
}

TEMPLATE_TEST_CASE("who is not there", "", ALL_VERSIONS) {
  Driver driver(table_of<TestType>());
  REQUIRE(driver.init() == Result::success);
  Handle handle{};
  void *comm = nullptr, *listener = nullptr;
  REQUIRE(driver.listen(0, handle, &listener) == Result::success);
  void* received = &comm;
  CHECK(driver.accept(listener, &received) == Result::success);
  CHECK(received == nullptr);
  REQUIRE(driver.net().closeListen(listener) == Result::success);
  CHECK(driver.connect(0, handle, &comm) == Result::success);
  CHECK(comm == nullptr);
  logged();
  CHECK(driver.connect(0, handle, &comm) == Result::remote_error);
  CHECK_THAT(logged(), Contains("WARN NET/OFI connect: nobody listens"));
  CHECK(driver.connect(99, handle, &comm) == Result::internal_error);
  CHECK(driver.listen(99, handle, &comm) == Result::internal_error);
  CHECK(driver.accept(listener, &comm) == Result::internal_error);
  driver.finalize();
}

TEMPLATE_TEST_CASE("sizes that were too long for int", "", nccl_abi::NetV5, nccl_abi::NetV6,
                   nccl_abi::NetV7) {
  Driver driver(table_of<TestType>());
  Pair<TestType> pair(driver);
  logged();
  void* request = nullptr;
  CHECK(driver.net().regMr(pair.sender, pair.out, -1, nccl_abi::kPointerHost, &request) ==
        Result::internal_error);
  CHECK_THAT(logged(), Contains("ends at 2 GiB"));
  CHECK(driver.net().isend(pair.sender, pair.out, -1, 0, pair.out_memory, &request) ==
        Result::internal_error);
  int bytes = -1, tag = 0;
  void* data = pair.in;
  CHECK(driver.net().irecv(pair.receiver, 1, &data, &bytes, &tag, &pair.in_memory, &request) ==
        Result::internal_error);
}

TEMPLATE_TEST_CASE("DMA-BUF needs a file", "", nccl_abi::NetV6, nccl_abi::NetV12) {
  Driver driver(table_of<TestType>());
  Pair<TestType> pair(driver);
  void* memory = nullptr;
  CHECK(driver.net().regMrDmaBuf(pair.sender, pair.in, 64, nccl_abi::kPointerHost, 0, -1,
                                 &memory) == Result::internal_error);
  REQUIRE(driver.net().regMrDmaBuf(pair.sender, pair.in, 64, nccl_abi::kPointerHost, 0, 0,
                                   &memory) == Result::success);
  CHECK(driver.net().deregMr(pair.sender, memory) == Result::success);
}

TEMPLATE_TEST_CASE("devices made of devices", "", nccl_abi::NetV9, nccl_abi::NetV12) {
  Driver driver(table_of<TestType>());
  REQUIRE(driver.init() == Result::success);
  auto& net = driver.net();
  using Members = std::remove_pointer_t<decltype(
      []<typename M>(Result (*)(int*, M*)) -> M* { return nullptr; }(net.makeVDevice))>;
  int device = -1;
  Members one{1, {0}}, twice{2, {0, 0}}, none{0, {}}, missing{1, {99}}, many{99, {}};
  CHECK(net.makeVDevice(&device, &one) == Result::success);
  CHECK(device == 0);
  logged();
  CHECK(net.makeVDevice(&device, &twice) == Result::internal_error);
  CHECK_THAT(logged(), Contains("named twice"));
  CHECK(net.makeVDevice(&device, &none) == Result::internal_error);
  CHECK(net.makeVDevice(&device, &missing) == Result::internal_error);
  CHECK(net.makeVDevice(&device, &many) == Result::internal_error);
  CHECK(net.makeVDevice(&device, nullptr) == Result::internal_error);
  CHECK(net.makeVDevice(nullptr, &one) == Result::internal_error);
  driver.finalize();
}

}  // namespace heddle::nccl_net::testing
