// Handles, introductions, and what a listener remembers of those that came.
#include "transport/fabric/introduction.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace heddle;
using namespace heddle::transport::fabric;
using transport::PipeSecret;

namespace {

constexpr PipeSecret kSecret = {1, 2, 3};

Nonce nonce(std::uint8_t number) { return {number}; }

base::Clock::time_point second(int number) {
  return base::Clock::time_point(std::chrono::seconds(number));
}

}  // namespace

TEST_CASE("a handle comes back as it was, with the ends for which there was room") {
  Handle handle{7, 0x123456789abcdef0, 99, {5, 6, 7}, {}};
  for (std::uint8_t i = 0; i < 8; ++i) handle.ends.push_back({i, std::vector<std::uint8_t>(16, i)});
  const auto bytes = encode(handle);
  CHECK(bytes.size() <= kHandleBytes);
  const Handle same = decode_handle(bytes);
  CHECK(same.listener == 7);
  CHECK(same.instance == 0x123456789abcdef0);
  CHECK(same.path == 99);
  CHECK(same.secret == PipeSecret{5, 6, 7});
  REQUIRE(same.ends.size() == 3);  // 24 bytes each
  CHECK(same.ends[2].network == 2);
  CHECK(same.ends[2].address == std::vector<std::uint8_t>(16, 2));
}

TEST_CASE("bytes that are no handle are refused, and so are those that were damaged") {
  Handle handle{1, 1, 1, {}, {{1, {1, 2, 3}}, {2, {4, 5, 6}}}};
  auto bytes = encode(handle);
  CHECK_NOTHROW(decode_handle(bytes));
  CHECK_THROWS_AS(decode_handle(std::span(bytes).first(bytes.size() - 1)), base::Error);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{4};
    CHECK_THROWS_AS(decode_handle(damaged), base::Error);
  }
  CHECK_THROWS_AS(decode_handle(std::span(bytes).first(39)), base::Error);
  auto version = bytes;
  version[2] = std::byte{200};
  CHECK_THROWS_AS(decode_handle(version), base::Error);
  handle.ends.clear();
  CHECK_THROWS_AS(decode_handle(encode(handle)), base::Error);
}

TEST_CASE("an introduction is genuine with its secret, and only as it was sent") {
  const auto message = sealed({11, 3, true, nonce(4), "the address", {}}, kSecret);
  const auto opened = open_introduction(message);
  REQUIRE(opened);
  CHECK(opened->to_instance == 11);
  CHECK(opened->listener == 3);
  CHECK(opened->refused);
  CHECK(opened->nonce == nonce(4));
  CHECK(opened->text == "the address");
  CHECK(opened->sealed_by(kSecret));
  CHECK_FALSE(opened->sealed_by({1, 2, 4}));
  for (std::size_t i = 0; i < message.size(); ++i) {
    auto changed = message;
    changed[i] ^= std::byte{1};
    INFO("byte " << i);
    const auto other = open_introduction(changed);
    CHECK_FALSE((other && other->sealed_by(kSecret)));
  }
  CHECK_FALSE(open_introduction(std::span(message).first(63)));
}

TEST_CASE("visits are taken once, in the order in which they came") {
  Visits visits;
  CHECK(visits.came(nonce(9), "first", second(0)) == nullptr);
  CHECK(visits.came(nonce(1), "second", second(1)) == nullptr);
  CHECK(visits.came(nonce(9), "first", second(2)) == nullptr);  // again; nobody has answered yet
  REQUIRE(visits.take() == nonce(9));
  visits.at(nonce(9)).answer = "here";
  Visit* const again = visits.came(nonce(9), "first", second(3));
  REQUIRE(again != nullptr);
  CHECK(again->answer == "here");
  REQUIRE(visits.take() == nonce(1));
  visits.at(nonce(1)).answer = "here";
  CHECK_FALSE(visits.take());
}

TEST_CASE("a listener that lives long forgets who came") {
  Visits visits;
  for (int i = 0; i < 1000; ++i) {
    const auto number = static_cast<std::uint8_t>(i);
    visits.forget_before(second(i - 5));
    visits.came(nonce(number), "somebody", second(i));
    if (i % 2 == 0) continue;  // that one waits until it is forgotten
    while (const auto taken = visits.take()) visits.at(*taken).answer = "here";
    CHECK(visits.size() <= 6);
  }
  // Still calling: it is remembered however long that takes.
  for (int i = 1000; i < 1020; ++i) {
    visits.forget_before(second(i - 5));
    visits.came(nonce(1), "somebody", second(i));
  }
  CHECK(visits.size() == 1);
  CHECK(visits.take() == nonce(1));
  visits.forget_before(second(2000));
  CHECK(visits.size() == 0);
  CHECK_FALSE(visits.take());
}
