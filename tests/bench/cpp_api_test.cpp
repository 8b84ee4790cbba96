// heddle.hpp: what it adds to the C API. A world of one is enough for that; the operations' data
// between ranks are tested in tests/communicator.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/text.hpp"
#include "catch.hpp"
#include "heddle/heddle.hpp"

using heddle::bfloat16;
using heddle::Communicator;
using heddle::Error;
using heddle::float16;
using heddle::HostBuffer;
using heddle::Op;
using heddle::UniqueId;

namespace {

Communicator world_of_one() { return Communicator::from_unique_id(UniqueId::make(), 1, 0); }

template <typename Call>
Error failure_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return Error(heddleSuccess, "");
}

}  // namespace

TEST_CASE("C++ types are the C API's types by size and sign") {
  STATIC_REQUIRE(heddle::data_type<float> == heddleFloat32);
  STATIC_REQUIRE(heddle::data_type<bfloat16> == heddleBfloat16);
  STATIC_REQUIRE(heddle::data_type<long> == heddleInt64);
  STATIC_REQUIRE(heddle::data_type<unsigned long long> == heddleUint64);
  STATIC_REQUIRE(heddle::data_type<unsigned char> == heddleUint8);
  STATIC_REQUIRE_FALSE(heddle::Element<bool>);
  STATIC_REQUIRE_FALSE(heddle::Element<char>);
  STATIC_REQUIRE_FALSE(heddle::Element<short>);
  STATIC_REQUIRE(heddle::Output<std::vector<float>&>);
  STATIC_REQUIRE_FALSE(heddle::Output<const std::vector<float>&>);
  STATIC_REQUIRE_FALSE(heddle::Pair<std::vector<float>&, std::vector<double>&>);
}

TEST_CASE("16-bit floats round to nearest even and keep their specials") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(float16(1.0F).bits == 0x3c00);
  CHECK(float16(-2.0F).bits == 0xc000);
  CHECK(float16(65504.0F).bits == 0x7bff);
  CHECK(float16(65519.0F).bits == 0x7bff);
  CHECK(float16(65520.0F).bits == 0x7c00);
  CHECK(float16(2049.0F).bits == float16(2048.0F).bits);  // ties to even
  CHECK(float16(2051.0F).bits == float16(2052.0F).bits);
  CHECK(float16(0x1p-24F).bits == 1);
  CHECK(float16(0x1p-25F).bits == 0);
  CHECK(float16(infinity).bits == 0x7c00);
  CHECK(bfloat16(1.0F).bits == 0x3f80);
  CHECK(bfloat16(257.0F).bits == bfloat16(256.0F).bits);
  CHECK(bfloat16(259.0F).bits == bfloat16(260.0F).bits);
  CHECK(bfloat16(infinity).bits == 0x7f80);
  CHECK(std::isnan(static_cast<float>(float16(std::nanf("")))));
  CHECK(std::isnan(static_cast<float>(bfloat16(std::nanf("")))));
}

TEST_CASE("every 16-bit float survives the way to float and back") {
  int lost = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    bfloat16 brain;
    brain.bits = half.bits;
    if (!std::isnan(static_cast<float>(half)))
      lost += float16(static_cast<float>(half)).bits != bits;
    if (!std::isnan(static_cast<float>(brain)))
      lost += bfloat16(static_cast<float>(brain)).bits != bits;
  }
  CHECK(lost == 0);
}

TEST_CASE("world-of-one: every kind of range and every form of call") {
  Communicator communicator = world_of_one();
  CHECK(communicator.rank() == 0);
  CHECK(communicator.size() == 1);
  CHECK(communicator.network() == "nothing (one rank)");
  const std::vector<float> send = {1, 2, 3};
  std::vector<float> receive(3);
  communicator.all_reduce(send, receive, Op::sum);
  CHECK(receive == send);
  std::array<std::int64_t, 2> values = {5, -6};
  communicator.all_reduce(values, Op::avg);
  CHECK(values == std::array<std::int64_t, 2>{5, -6});
  HostBuffer<double> buffer(4);
  buffer[3] = 2.5;
  std::vector<double> gathered(4);
  auto work = communicator.all_gather_async(buffer, gathered);
  work.wait();
  CHECK(work.done());
  CHECK(gathered[3] == 2.5);
  communicator.reduce_scatter(std::span<const double>(gathered), std::span<double>(buffer),
                              Op::max);
  CHECK(buffer[3] == 2.5);
  communicator.finalize();
}

TEST_CASE("sizes that do not fit are an error that names both") {
  Communicator communicator = world_of_one();
  std::vector<float> three(3), four(4);
  const Error reduce = failure_of([&] { communicator.all_reduce(three, four, Op::sum); });
  CHECK(reduce.code() == heddleInvalidArgument);
  CHECK(std::string(reduce.what()) ==
        "all_reduce: send holds 3 elements and receive 4; they must be equal");
  CHECK(failure_of([&] { communicator.all_gather(four, three); }).code() == heddleInvalidArgument);
  CHECK(failure_of([&] { communicator.reduce_scatter(three, four, Op::sum); }).code() ==
        heddleInvalidArgument);
}

TEST_CASE("the library's sentence is the error's text") {
  Communicator communicator = world_of_one();
  const Error error =
      failure_of([&] { communicator.all_reduce(nullptr, nullptr, 5, heddleFloat32, Op::sum); });
  CHECK(error.code() == heddleInvalidArgument);
  CHECK(std::string(error.what()) == heddleGetLastError(nullptr));
  CHECK(std::string(error.what()).size() > 10);
}

TEST_CASE("unique ids are strings, and other strings are none") {
  const UniqueId id = UniqueId::make();
  CHECK(UniqueId::from_string(id.to_string()).to_string() == id.to_string());
  CHECK(failure_of([] { UniqueId::from_string(""); }).code() == heddleInvalidArgument);
  const Error error =
      failure_of([] { UniqueId::from_string(std::string(HEDDLE_UNIQUE_ID_BYTES, 'x')); });
  CHECK(has(error.what(), "256 characters; allowed are 1 to 255"));
}

TEST_CASE("registrations end with their owner, once") {
  Communicator communicator = world_of_one();
  HostBuffer<std::int32_t> buffer(1000);
  {
    heddle::Registration first = communicator.register_buffer(buffer);
    heddle::Registration moved = std::move(first);
    communicator.all_reduce(buffer, Op::sum);
  }
  void* handle = nullptr;
  REQUIRE(heddleCommRegister(communicator.get(), buffer.data(), 4000, &handle) == heddleSuccess);
  CHECK(heddleCommDeregister(communicator.get(), handle) == heddleSuccess);
  CHECK(heddleCommDeregister(communicator.get(), handle) == heddleInvalidArgument);
  CHECK(heddleCommRegister(communicator.get(), nullptr, 8, &handle) == heddleInvalidArgument);
  CHECK(heddleCommRegister(communicator.get(), buffer.data(), 0, &handle) == heddleInvalidArgument);
  CHECK(heddleCommRegister(communicator.get(), buffer.data(), SIZE_MAX, &handle) ==
        heddleInvalidArgument);
  CHECK(heddleCommRegister(communicator.get(), buffer.data(), 8, nullptr) == heddleInvalidArgument);
}

TEST_CASE("owners move and are empty afterwards") {
  Communicator one = world_of_one();
  Communicator two = std::move(one);
  CHECK(one.get() == nullptr);
  two.abort();
  CHECK(two.get() == nullptr);
  HostBuffer<float> buffer(10);
  float* const data = buffer.data();
  HostBuffer<float> moved = std::move(buffer);
  CHECK(moved.data() == data);
  CHECK(buffer.size() == 0);
  CHECK(HostBuffer<float>(0).size() == 0);
}
