// Bad arguments of operations, through the C API on a world of one: each fails with a sentence that
// names the argument, before anything moves.
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "heddle/heddle.hpp"

namespace heddle::test {
namespace {

using Catch::Matchers::Contains;

struct Alone {
  Alone() : communicator(Communicator::from_unique_id(UniqueId::make(), 1, 0)) {}
  heddleComm_t get() const { return communicator.get(); }
  Communicator communicator;
};

void check_refused(heddleResult_t result, const std::string& why,
                   heddleResult_t expected = heddleInvalidArgument) {
  const std::string text = heddleGetLastError(nullptr);
  INFO(text);
  CHECK(result == expected);
  CHECK_THAT(text, Contains(why));
}

}  // namespace

TEST_CASE("roots and peers out of range") {
  const Alone alone;
  float a[4] = {}, b[4] = {};
  for (const int rank : {-1, 1, std::numeric_limits<int>::max()}) {
    const std::string root = "root is " + std::to_string(rank) + ": allowed is 0 to 0";
    const std::string peer = "peer is " + std::to_string(rank) + ": allowed is 0 to 0";
    check_refused(heddleBroadcast(a, b, 4, heddleFloat32, rank, alone.get(), nullptr), root);
    check_refused(heddleReduce(a, b, 4, heddleFloat32, heddleSum, rank, alone.get(), nullptr),
                  root);
    check_refused(heddleGather(a, b, 4, heddleFloat32, rank, alone.get(), nullptr), root);
    check_refused(heddleScatter(a, b, 4, heddleFloat32, rank, alone.get(), nullptr), root);
    check_refused(heddleSend(a, 4, heddleFloat32, rank, alone.get(), nullptr), peer);
    check_refused(heddleRecv(b, 4, heddleFloat32, rank, alone.get(), nullptr), peer);
  }
}

TEST_CASE("null buffers and arrays of operations") {
  const Alone alone;
  float a[4] = {};
  const std::size_t counts[] = {4}, none[] = {0};
  const std::string send = "send buffer is NULL with count 4";
  const std::string receive = "receive buffer is NULL with count 4";
  const auto c = alone.get();
  check_refused(heddleBroadcast(nullptr, a, 4, heddleFloat32, 0, c, nullptr), send);
  check_refused(heddleBroadcast(a, nullptr, 4, heddleFloat32, 0, c, nullptr), receive);
  check_refused(heddleReduce(a, nullptr, 4, heddleFloat32, heddleSum, 0, c, nullptr), receive);
  check_refused(heddleGather(nullptr, a, 4, heddleFloat32, 0, c, nullptr), send);
  check_refused(heddleScatter(a, nullptr, 4, heddleFloat32, 0, c, nullptr), receive);
  check_refused(heddleAlltoAll(nullptr, a, 4, heddleFloat32, c, nullptr), send);
  check_refused(heddleSend(nullptr, 4, heddleFloat32, 0, c, nullptr), send);
  check_refused(heddleRecv(nullptr, 4, heddleFloat32, 0, c, nullptr), receive);
  check_refused(heddleAllGatherv(nullptr, a, counts, nullptr, heddleFloat32, c, nullptr),
                send + " for rank 0");
  check_refused(heddleAllGatherv(a, nullptr, counts, nullptr, heddleFloat32, c, nullptr),
                receive + " for rank 0");
  check_refused(heddleAllGatherv(a, a, nullptr, nullptr, heddleFloat32, c, nullptr),
                "receive counts are NULL");
  check_refused(heddleReduceScatterv(a, a, nullptr, heddleFloat32, heddleSum, c, nullptr),
                "send counts are NULL");
  check_refused(heddleAlltoAllv(a, counts, nullptr, a, nullptr, nullptr, heddleFloat32, c, nullptr),
                "receive counts are NULL");
  // Nothing is there to read or write.
  CHECK(heddleAllGatherv(nullptr, nullptr, none, nullptr, heddleFloat32, c, nullptr) ==
        heddleSuccess);
  CHECK(heddleBroadcast(nullptr, nullptr, 0, heddleFloat32, 0, c, nullptr) == heddleSuccess);
  CHECK(heddleAlltoAll(nullptr, nullptr, 0, heddleFloat32, c, nullptr) == heddleSuccess);
}

TEST_CASE("lengths that no memory has") {
  const Alone alone;
  char a[4] = {};
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  const std::size_t huge[] = {kMost}, one[] = {1};
  check_refused(heddleSend(a, kMost, heddleFloat32, 0, alone.get(), nullptr),
                "more bytes than memory can hold");
  check_refused(heddleAllGatherv(a, a, huge, nullptr, heddleInt8, alone.get(), nullptr),
                "more than memory can hold");
  check_refused(heddleAllGatherv(a, a, one, huge, heddleInt8, alone.get(), nullptr),
                "more than memory can hold");
}

TEST_CASE("an all-to-all has no in-place form, and other overlaps are refused") {
  const Alone alone;
  float a[16] = {};
  const std::size_t eight[] = {8}, four[] = {4};
  check_refused(heddleAlltoAll(a, a, 8, heddleFloat32, alone.get(), nullptr), "no in-place form");
  check_refused(
      heddleAlltoAllv(a, eight, nullptr, a, eight, nullptr, heddleFloat32, alone.get(), nullptr),
      "overlap: blocks must be apart; an all-to-all has no in-place form");
  check_refused(heddleBroadcast(a, a + 1, 8, heddleFloat32, 0, alone.get(), nullptr),
                "in place with send == receive");
  check_refused(heddleGather(a, a + 1, 8, heddleFloat32, 0, alone.get(), nullptr), "root * count");
  check_refused(heddleAllGatherv(a + 4, a, eight, nullptr, heddleFloat32, alone.get(), nullptr),
                "overlap");
  check_refused(
      heddleAlltoAllv(a, eight, nullptr, a + 8, four, nullptr, heddleFloat32, alone.get(), nullptr),
      "must be equal");
}

TEST_CASE("what a group receives lies apart from all that it sends and receives") {
  const Alone alone;
  int values[64] = {};
  struct Piece {
    bool receives;
    int first, count;
  };
  const auto result_of = [&](const std::vector<Piece>& pieces) {
    REQUIRE(heddleGroupStart() == heddleSuccess);
    for (const auto& [receives, first, count] : pieces) {
      const auto elements = static_cast<std::size_t>(count);
      if (receives)
        CHECK(heddleRecv(values + first, elements, heddleInt32, 0, alone.get(), nullptr) ==
              heddleSuccess);
      else
        CHECK(heddleSend(values + first, elements, heddleInt32, 0, alone.get(), nullptr) ==
              heddleSuccess);
    }
    return heddleGroupEnd();
  };
  // Sends first: the k-th send of a rank to itself is met by its k-th receive.
  const auto refused = [&](const std::vector<Piece>& pieces) {
    check_refused(result_of(pieces), "of one group overlap");
  };
  refused({{false, 0, 8}, {true, 0, 8}});
  refused({{false, 0, 8}, {true, 7, 8}});
  refused({{false, 8, 8}, {true, 1, 8}});
  refused({{false, 0, 4}, {false, 4, 4}, {true, 20, 4}, {true, 23, 4}});
  // One that lies in a longer one, with another between their beginnings.
  refused({{false, 40, 20},
           {false, 0, 1},
           {false, 1, 1},
           {true, 10, 20},
           {true, 12, 1},
           {true, 20, 1}});
  refused({{false, 0, 20}, {false, 5, 1}, {true, 40, 20}, {true, 19, 1}});
  // Two sends may read the same, neighbours touch, and nothing overlaps nothing.
  CHECK(result_of({{false, 0, 8}, {false, 4, 8}, {true, 12, 8}, {true, 20, 8}}) == heddleSuccess);
  CHECK(result_of({{false, 0, 8}, {false, 3, 0}, {true, 8, 8}, {true, 9, 0}}) == heddleSuccess);
}

TEST_CASE("pre-scaled sums: unknown, destroyed, of another type or communicator") {
  const Alone alone, other;
  float values[4] = {1, 2, 3, 4};
  const auto reduce = [&](heddleRedOp_t op, heddleDataType_t type = heddleFloat32) {
    return heddleAllReduce(values, values, 2, type, op, alone.get(), nullptr);
  };
  const float scale = 3;
  heddleRedOp_t op = heddleNumOps;
  const auto create = [&](const void* scalar, heddleDataType_t type,
                          heddleScalarResidence_t residence) {
    return heddleRedOpCreatePreMulSum(&op, scalar, type, residence, alone.get());
  };
  check_refused(create(nullptr, heddleFloat32, heddleScalarHostImmediate), "scalar is NULL");
  check_refused(create(&scale, heddleNumTypes, heddleScalarHostImmediate), "data type is 12");
  check_refused(create(&scale, heddleFloat32, heddleScalarDevice), "residence is 0");
  check_refused(reduce(static_cast<heddleRedOp_t>(12345)), "reduction is 12345");
  REQUIRE(create(&scale, heddleFloat32, heddleScalarHostImmediate) == heddleSuccess);
  CHECK(reduce(op) == heddleSuccess);
  CHECK(values[0] == 3);
  CHECK(values[1] == 6);
  check_refused(reduce(op, heddleInt32), "this pre-scaled sum was made for float");
  check_refused(heddleAllReduce(values, values, 2, heddleFloat32, op, other.get(), nullptr),
                "for this communicator");
  REQUIRE(heddleRedOpDestroy(op, alone.get()) == heddleSuccess);
  check_refused(reduce(op), "for this communicator");
  check_refused(heddleRedOpDestroy(op, alone.get()), std::to_string(op));
  check_refused(heddleRedOpDestroy(heddleSum, alone.get()), "reduction is 0");
  CHECK(values[0] == 3);
}

TEST_CASE("groups that are not there, and sends to oneself that nobody receives") {
  const Alone alone;
  int values[8] = {1, 2, 3, 4};
  check_refused(heddleGroupEnd(), "not started", heddleInvalidUsage);
  heddleWork_t work = nullptr;
  check_refused(heddleGroupEndAsync(&work), "not started", heddleInvalidUsage);
  check_refused(heddleGroupEndAsync(nullptr), "work is NULL");
  check_refused(heddleSend(values, 4, heddleInt32, 0, alone.get(), nullptr),
                "1 sends to itself and 0 receives", heddleInvalidUsage);
  check_refused(heddleRecvAsync(values, 4, heddleInt32, 0, alone.get(), nullptr, &work),
                "0 sends to itself and 1 receives", heddleInvalidUsage);
  // A group whose end has nowhere to put its work is over all the same.
  REQUIRE(heddleGroupStart() == heddleSuccess);
  check_refused(heddleGroupEndAsync(nullptr), "work is NULL");
  check_refused(heddleGroupEnd(), "not started", heddleInvalidUsage);
  // An inner one spoils the outer.
  REQUIRE(heddleGroupStart() == heddleSuccess);
  REQUIRE(heddleGroupStart() == heddleSuccess);
  check_refused(heddleGroupEndAsync(nullptr), "work is NULL");
  check_refused(heddleGroupEnd(), "nothing of this group was done", heddleInvalidUsage);
  check_refused(heddleGroupEnd(), "not started", heddleInvalidUsage);
  REQUIRE(heddleGroupStart() == heddleSuccess);
  CHECK(heddleSend(values, 4, heddleInt32, 0, alone.get(), nullptr) == heddleSuccess);
  CHECK(heddleRecv(values + 4, 3, heddleInt32, 0, alone.get(), nullptr) == heddleSuccess);
  check_refused(heddleGroupEnd(), "has 16 bytes, the receive that meets it 12");
  CHECK(values[4] == 0);
}

}  // namespace heddle::test
