// Bad input through the C API: each gets its result and a sentence that names the thing.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>

#include "catch.hpp"
#include "heddle/heddle.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

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
  for (const int type : {-1, 10, 1000}) {
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

TEST_CASE("the root is unreachable: an error that names the address, in time") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  std::string text = id.internal;
  text = text.substr(0, 8 + 64) + " 127.0.0.1:9";
  std::memset(&id, 0, sizeof id);
  std::memcpy(id.internal, text.data(), text.size());
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  config.settings = "HEDDLE_INIT_TIMEOUT=1";
  heddleComm_t comm = nullptr;
  CHECK(heddleCommInitRankConfig(&comm, 2, id, 1, &config) == heddleRemoteError);
  CHECK_THAT(last_error(), Contains("127.0.0.1:9") && Contains("refused"));
}

TEST_CASE("config is checked") {
  heddleUniqueId id;
  REQUIRE(heddleGetUniqueId(&id) == heddleSuccess);
  heddleComm_t comm = nullptr;
  heddleConfig_t config = HEDDLE_CONFIG_INITIALIZER;
  config.size = 3;
  CHECK(heddleCommInitRankConfig(&comm, 1, id, 0, &config) == heddleInvalidArgument);
  CHECK_THAT(last_error(), Contains("config.size is 3"));
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
    CHECK_THAT(last_error(), Contains(provider) && Contains("tcp"));
  }
}

TEST_CASE("stale-errno: has no effect") {
  for (const int stale : {EAGAIN, ERANGE, EINTR, ENOMEM}) {
    errno = stale;
    heddleUniqueId id;
    CHECK(heddleGetUniqueId(&id) == heddleSuccess);
    heddleComm_t comm = nullptr;
    errno = stale;
    CHECK(heddleCommInitRank(&comm, 1, id, 0) == heddleSuccess);
    float value = 1;
    errno = stale;
    CHECK(heddleAllReduce(&value, &value, 1, heddleFloat32, heddleSum, comm, nullptr) ==
          heddleSuccess);
    errno = stale;
    CHECK(heddleCommDestroy(comm) == heddleSuccess);
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
