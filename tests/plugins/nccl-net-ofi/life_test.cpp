// From the first init to the last finalize, and beyond: versions 11 and 12, whose communicators
// end.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "memory_comm.hpp"
#include "tables.hpp"

namespace heddle::nccl_net::testing {
namespace {

using Catch::Matchers::Contains;
using V11 = Driver<nccl_abi::NetV11>;
using V12 = Driver<nccl_abi::NetV12>;

}  // namespace

TEST_CASE("nothing works before init, and nothing crashes") {
  V11 driver(ncclNetPlugin_v11);
  int count = 0;
  Handle handle{};
  void* comm = nullptr;
  CHECK(driver.net().devices(&count) == Result::invalid_usage);
  CHECK(driver.listen(0, handle, &comm) == Result::invalid_usage);
  CHECK(driver.connect(0, handle, &comm) == Result::invalid_usage);
  CHECK(driver.net().finalize(nullptr) == Result::success);
  CHECK(driver.net().finalize(&count) == Result::success);
}

TEST_CASE("the last finalize closes the adapters, and init opens them again") {
  for (int round = 0; round < 3; ++round) {
    V11 first(ncclNetPlugin_v11);
    V12 second(ncclNetPlugin_v12);
    REQUIRE(first.init() == Result::success);
    REQUIRE(second.init() == Result::success);
    CHECK(first.context() != nullptr);
    CHECK(first.context() != second.context());
    void *sender, *receiver, *listener;
    first.pair(0, &sender, &receiver, &listener);
    CHECK(endpoints() == 1);
    CHECK(first.finalize() == Result::success);
    CHECK(first.finalize() == Result::success);  // the same again
    int count = 0;
    CHECK(second.net().devices(&count) == Result::success);
    CHECK(second.net().closeListen(listener) == Result::success);
    CHECK(endpoints() == 1);
    CHECK(second.finalize() == Result::success);
    CHECK(second.net().devices(&count) == Result::invalid_usage);
    CHECK(endpoints() == 1);  // comms keep it
    CHECK(second.net().closeRecv(receiver) == Result::success);
    CHECK(second.net().closeSend(sender) == Result::success);
    CHECK(endpoints() == 0);
  }
}

TEST_CASE("many threads begin and end at once") {
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        V11 driver(ncclNetPlugin_v11);
        int count = 0;
        if (driver.init() != Result::success || driver.net().devices(&count) != Result::success ||
            count < 1 || driver.finalize() != Result::success)
          ++bad;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(bad == 0);
}

TEST_CASE("init says what was found") {
  logged();
  V11 driver(ncclNetPlugin_v11);
  setenv("OFI_NCCL_PROTOCOL", "RDMA", 1);
  setenv("OFI_NCCL_CQ_SIZE", "1", 1);
  REQUIRE(driver.init() == Result::success);
  unsetenv("OFI_NCCL_PROTOCOL");
  unsetenv("OFI_NCCL_CQ_SIZE");
  const std::string text = logged();
  CHECK_THAT(text, Contains("INFO NET/OFI Initializing Heddle 0."));
  CHECK_THAT(text, Contains("INFO NET/OFI libfabric "));
  CHECK_THAT(text, Contains("INFO NET/OFI Selected Provider is "));
  CHECK_THAT(text, Contains("nics)\n"));
  CHECK_THAT(text, Contains("INFO NET/OFI device 0: "));
  CHECK_THAT(text, Contains("INFO NET/OFI OFI_NCCL_PROTOCOL=RDMA is understood as HEDDLE_RMA=1"));
  CHECK_THAT(text, Contains("INFO NET/OFI OFI_NCCL_CQ_SIZE=1 is ignored: "));
  driver.finalize();
}

TEST_CASE("an init that fails is told in one line, and another may work") {
  logged();
  V11 driver(ncclNetPlugin_v11);
  driver.context() = &driver;
  setenv("HEDDLE_PROVIDER", "nonsense", 1);
  CHECK(driver.init() == Result::internal_error);
  unsetenv("HEDDLE_PROVIDER");
  CHECK(driver.context() == nullptr);
  const std::string text = logged();
  const auto warning = text.find("WARN ");
  REQUIRE(warning != std::string::npos);
  CHECK(text.find("WARN ", warning + 1) == std::string::npos);
  CHECK_THAT(text.substr(warning),
             Contains("NET/OFI Heddle cannot start: HEDDLE_PROVIDER=nonsense") &&
                 Contains("NCCL goes on with its own sockets") && Contains("NCCL_NET=Heddle"));
  CHECK(driver.finalize() == Result::success);
  REQUIRE(driver.init() == Result::success);
  CHECK(driver.finalize() == Result::success);
}

TEST_CASE("a setting that is wrong stops init") {
  V11 driver(ncclNetPlugin_v11);
  setenv("HEDDLE_NCCL_MAX_RECVS", "9", 1);
  logged();
  CHECK(driver.init() == Result::internal_error);
  CHECK_THAT(logged(), Contains("HEDDLE_NCCL_MAX_RECVS=9: allowed is 1 to 8"));
  unsetenv("HEDDLE_NCCL_MAX_RECVS");
}

TEST_CASE("grouped receives, when somebody asks for them") {
  setenv("HEDDLE_NCCL_MAX_RECVS", "8", 1);
  V12 driver(ncclNetPlugin_v12);
  REQUIRE(driver.init() == Result::success);
  unsetenv("HEDDLE_NCCL_MAX_RECVS");
  nccl_abi::PropertiesV12 properties;
  REQUIRE(driver.net().getProperties(0, &properties) == Result::success);
  CHECK(properties.maxRecvs == 8);
  void *sender, *receiver, *listener, *out, *in;
  driver.pair(0, &sender, &receiver, &listener);
  int sent[3] = {10, 20, 30}, came[3] = {};
  REQUIRE(driver.net().regMr(sender, sent, sizeof sent, 1, &out) == Result::success);
  REQUIRE(driver.net().regMr(receiver, came, sizeof came, 1, &in) == Result::success);
  void *received = nullptr, *request = nullptr;
  REQUIRE(driver.receive(receiver, {&came[0], &came[1], &came[2]}, {4, 4, 4}, {1, 2, 1},
                         {in, in, in}, &received) == Result::success);
  for (const int tag : {2, 1, 1}) {
    REQUIRE(driver.send(sender, &sent[tag], 4, tag, out, &request) == Result::success);
    REQUIRE(request != nullptr);
    CHECK(driver.wait(request, nullptr) == Result::success);
  }
  int sizes[3] = {};
  CHECK(driver.wait(received, sizes) == Result::success);
  CHECK(came[0] == 20);
  CHECK(came[1] == 30);
  CHECK(sizes[2] == 4);
  driver.net().closeSend(sender);
  driver.net().closeRecv(receiver);
  driver.net().closeListen(listener);
  driver.finalize();
}

TEST_CASE("a child of fork is told, whatever it calls") {
  V11 driver(ncclNetPlugin_v11);
  REQUIRE(driver.init() == Result::success);
  void *sender, *receiver, *listener, *memory, *request = nullptr;
  char data[8] = {};
  driver.pair(0, &sender, &receiver, &listener);
  REQUIRE(driver.net().regMr(sender, data, sizeof data, 1, &memory) == Result::success);
  logged();
  const pid_t child = fork();
  if (child == 0) {
    V11 another(ncclNetPlugin_v11);
    int wrong = 0, count = 0;
    const auto refused = [&](Result result) { wrong += result != Result::invalid_usage; };
    refused(another.init());
    refused(driver.net().devices(&count));
    refused(driver.send(sender, data, 1, 0, memory, &request));
    refused(driver.net().closeSend(sender));
    refused(driver.finalize());
    wrong += logged().find("was forked from one that uses Heddle") == std::string::npos;
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(driver.net().deregMr(sender, memory) == Result::success);
  CHECK(driver.net().closeSend(sender) == Result::success);
  CHECK(driver.net().closeRecv(receiver) == Result::success);
  CHECK(driver.net().closeListen(listener) == Result::success);
  CHECK(driver.finalize() == Result::success);
  CHECK(comms() == 0);
}

// Last: from here on the session stays.
TEST_CASE("a version without finalize keeps what others would end") {
  Driver<nccl_abi::NetV6> old(ncclNetPlugin_v6);
  REQUIRE(old.init() == Result::success);
  REQUIRE(old.init() == Result::success);
  V11 driver(ncclNetPlugin_v11);
  REQUIRE(driver.init() == Result::success);
  CHECK(driver.finalize() == Result::success);
  int count = 0;
  CHECK(old.net().devices(&count) == Result::success);
}

}  // namespace heddle::nccl_net::testing
