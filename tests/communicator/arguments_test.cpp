// Bad input through the C API: each gets its result and a sentence that names the thing.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "catch.hpp"
#include "heddle/heddle.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Matches;

// A world of one, through the C API.
class Alone {
 public:
  Alone() {
    heddleUniqueId id;
    REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
    REQUIRE(heddleCommInitRank(&comm_, 1, id, 0) == heddleSuccess);
  }
  ~Alone() { heddleCommDestroy(comm_); }
  heddleComm_t get() const { return comm_; }

 private:
  heddleComm_t comm_ = nullptr;
};

std::string last_error() { return heddleGetLastError(nullptr); }

}  // namespace

TEST_CASE("arguments of an operation") {
  const Alone alone;
  float values[16] = {};
  const auto reduce = [&](const void* send, void* receive, std::size_t count, int type, int op,
                          heddleStream_t stream = nullptr) {
    return heddleAllReduce(send, receive, count, static_cast<heddleDataType_t>(type),
                           static_cast<heddleRedOp_t>(op), alone.get(), stream);
  };
  CHECK(reduce(nullptr, values, 1, heddleFloat32, heddleSum) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("send buffer is NULL with count 1"));
  CHECK(reduce(values, nullptr, 1, heddleFloat32, heddleSum) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("receive buffer is NULL"));
  CHECK(reduce(nullptr, nullptr, 0, heddleFloat32, heddleSum) == heddleSuccess);
  for (const int type : {-1, 12, 1000}) {
    CHECK(reduce(values, values, 1, type, heddleSum) == heddleInvalidArgument);
    CHECK_THAT(last_error(), Contains("data type is " + std::to_string(type)));
  }
  for (const int op : {-1, 5}) {
    CHECK(reduce(values, values, 1, heddleFloat32, op) == heddleInvalidArgument);
    CHECK_THAT(last_error(), Contains("reduction is " + std::to_string(op)));
  }
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
  CHECK(reduce(values, values, huge, heddleFloat32, heddleSum) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains(std::to_string(huge)));
  CHECK(reduce(values, values + 1, 8, heddleFloat32, heddleSum) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("overlap"));
  CHECK(reduce(values, values, 8, heddleFloat32, heddleSum, values) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("stream"));
  CHECK(heddleAllReduce(values, values, 1, heddleFloat32, heddleSum, nullptr, nullptr) ==
        heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("comm is NULL"));
}

TEST_CASE("rank and nranks out of range") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  heddleComm_t comm = nullptr;
  for (const auto& [ranks, rank] : {std::pair{0, 0}, {-1, 0}, {2, 2}, {2, -1}, {1 << 30, 0}}) {
    CHECK(heddleCommInitRank(&comm, ranks, id, rank) == heddleInvalidArgument);
    CHECK(comm == nullptr);
    CHECK_THAT(last_error(), Contains("is " + std::to_string(ranks)) ||
                                 Contains("rank is " + std::to_string(rank)));
  }
  CHECK(heddleCommInitRank(nullptr, 1, id, 0) == heddleInvalidArgument);
}

TEST_CASE("malformed unique ids") {
  heddleUniqueId good;
  REQUIRE(heddleGetUniqueId(&good) == heddleSuccess);
  const auto refused = [](const heddleUniqueId& id) {
    heddleComm_t comm = nullptr;
    CHECK(heddleCommInitRank(&comm, 2, id, 1) == heddleInvalidArgument);
    CHECK_THAT(last_error(), Contains("malformed unique id"));
  };
  heddleUniqueId id{};
  refused(id);
  std::memset(&id, 'x', sizeof id);
  refused(id);
  id = good;
  id.internal[10] = 'z';  // no hexadecimal digit
  refused(id);
  id = good;
  std::strcpy(id.internal + 8 + 64, " noport");
  refused(id);
  id = good;
  id.internal[8 + 64] = '\0';  // no address
  refused(id);
}

namespace {

// An id whose root is at `port` of this host. Nobody there knows the secret.
heddleUniqueId id_at(std::uint16_t port) {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  const std::string text =
      std::string(id.internal).substr(0, 8 + 64) + " 127.0.0.1:" + std::to_string(port);
  std::memset(&id, 0, sizeof id);
  std::memcpy(id.internal, text.data(), text.size());
  return id;
}

// Fails to join there and gives the error; the time that it took must be near the setting.
std::string error_of_joining(const heddleUniqueId& id) {
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  config.settings = "HEDDLE_INIT_TIMEOUT=1";
  heddleComm_t comm = nullptr;
  const auto start = base::Clock::now();
  const heddleResult_t result = heddleCommInitRankConfig(&comm, 2, id, 1, &config);
  CHECK((result == heddleRemoteError || result == heddleTimeout));
  CHECK(base::seconds_since(start) < 3);
  CHECK(comm == nullptr);
  return last_error();
}

base::UniqueFd socket_at(std::uint16_t port, int (*what)(int, const sockaddr*, socklen_t)) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int result = what(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  REQUIRE((result == 0 || errno == EINPROGRESS));
  return fd;
}

// Listens on a free port of this host, and never accepts.
struct Blackhole {
  explicit Blackhole(int backlog) : listener(socket_at(0, &bind)) {
    REQUIRE(listen(listener.get(), backlog) == 0);
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  base::UniqueFd listener;
  std::uint16_t port = 0;
};

}  // namespace

TEST_CASE("the root is unreachable: an error that names the address, in time") {
  CHECK_THAT(error_of_joining(id_at(9)), Contains("127.0.0.1:9") && Contains("refused"));
}

TEST_CASE("the root is a blackhole: an error that names the address, in time") {
  const Blackhole silent(16);  // the connection stands, but nobody ever reads from it
  CHECK_THAT(error_of_joining(id_at(silent.port)), Contains(silent.address()));

  const Blackhole full(0);  // after the first, the system answers no connection at all
  std::vector<base::UniqueFd> first;
  for (int i = 0; i < 4; ++i) first.push_back(socket_at(full.port, &connect));
  CHECK_THAT(error_of_joining(id_at(full.port)), Contains(full.address()) && Contains("no answer"));
}

TEST_CASE("config is checked") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  heddleComm_t comm = nullptr;
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  config.size = 3;
  CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("config.size is 3"));
  for (const unsigned version : {0U, 99U, HEDDLE_VERSION_CODE + 100U}) {
    config = HEDDLE_CONFIG_INITIALIZER;
    config.version = version;
    CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
    CHECK_THAT(last_error(),
               Contains("config.version is " + std::to_string(version) + ": allowed is 100 to "));
  }
  config = HEDDLE_CONFIG_INITIALIZER;
  config.settings = "HEDDLE_CHANNELS=many";
  CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("HEDDLE_CHANNELS=many") && Contains("0 to 16"));
  config.settings = "nonsense";
  CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("nonsense"));
}

TEST_CASE("no-silent-fallback: a provider that is not there fails, with what there is") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  heddleComm_t comm = nullptr;
  for (const char* provider : {"efa", "carrier-pigeon"}) {
    const std::string settings = std::string("HEDDLE_PROVIDER=") + provider;
    config.settings = settings.c_str();
    CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
    // The whole sentence: what was asked for, why it is not there, and all that there is. libfabric
    // 2 shows an efa without adapters too: then the list says so.
    const std::string version = "[0-9]+\\.[0-9]+";
    const std::string offer = "[^ ]+ " + version + " \\((not )?usable: [^()]+\\)";
    const bool listed =
        std::string(last_error()).find(std::string(" ") + provider + " 2") != std::string::npos;
    const std::string why = listed ? std::string()
                                   : std::string("; libfabric shows no ") + provider +
                                         " \\(not built in, or without a device here\\)";
    CHECK_THAT(last_error(),
               Matches(settings + ": no such provider is usable here" + why + "\\. libfabric " +
                       version + " offers: " + offer + "(; " + offer + ")*"));
    if (listed) CHECK_THAT(last_error(), Contains("it finds no adapter on this machine"));
    CHECK_THAT(last_error(), Contains("tcp"));
  }
}

TEST_CASE("memory and works") {
  void* memory = nullptr;
  CHECK(heddleMemAlloc(&memory, 0) == heddleInvalidArgument);
  CHECK(heddleMemAlloc(&memory, 1 << 20) == heddleSuccess);
  CHECK(memory != nullptr);
  CHECK(heddleMemFree(memory) == heddleSuccess);
  CHECK(heddleMemFree(memory) == heddleInvalidArgument);
  CHECK(heddleMemFree(nullptr) == heddleSuccess);
  CHECK(heddleWorkWait(nullptr, 1) == heddleInvalidArgument);
  CHECK(heddleWorkTest(nullptr) == heddleInvalidArgument);
  CHECK(heddleWorkFree(nullptr) == heddleInvalidArgument);
}

TEST_CASE("calls after finalize are refused") {
  const Alone alone;
  CHECK(heddleCommFinalize(alone.get()) == heddleSuccess);
  float value = 1;
  CHECK(heddleAllReduce(&value, &value, 1, heddleFloat32, heddleSum, alone.get(), nullptr) ==
        heddleInvalidUsage);
  CHECK_THAT(last_error(), Contains("finalized"));
}

TEST_CASE("version and names of results") {
  int version = 0;
  CHECK(heddleGetVersion(&version) == heddleSuccess);
  CHECK(version == HEDDLE_VERSION_CODE);
  for (int result = heddleSuccess; result <= heddleAborted; ++result)
    CHECK(std::string(heddleGetErrorString(static_cast<heddleResult_t>(result))) !=
          "unknown result");
  CHECK(std::string(heddleGetErrorString(static_cast<heddleResult_t>(99))) == "unknown result");
}

}  // namespace heddle::test
