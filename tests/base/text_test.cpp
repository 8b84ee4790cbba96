// Numbers and bytes as text, and hashes, against other implementations.
#include "base/text.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "catch.hpp"

namespace heddle::base {
namespace {

TEST_CASE("a number is the whole text or none") {
  int value = 7;
  CHECK(parse_number("-12", value));
  CHECK(value == -12);
  for (const char* text : {"", "1x", " 1", "1 ", "99999999999", "0x10"}) {
    CHECK_FALSE(parse_number(text, value));
    CHECK(value == -12);
  }
  std::uint8_t byte = 0;
  CHECK(parse_number("ff", byte, 16));
  CHECK(byte == 255);
  CHECK_FALSE(parse_number("100", byte, 16));
}

TEST_CASE("lists are cut where they get long") {
  const std::vector<std::string> words = {"a", "b", "c"};
  CHECK(listed(words, 3) == "a, b, c");
  CHECK(listed(words, 3, " and ") == "a, b and c");
  CHECK(listed(words, 2, " and ") == "a, b and 1 more");
  CHECK(listed(std::span(words).first(1), 3, " and ") == "a");
  CHECK(listed(std::span(words).first(0), 3) == "");
  const std::vector<int> numbers = {5, 7, 9};
  CHECK(listed(numbers, 3) == "5, 7, 9");
  CHECK(listed(numbers, 1) == "5 and 2 more");
}

TEST_CASE("numbers that follow each other are ranges") {
  CHECK(ranges_text(std::vector<int>{}, ",") == "");
  CHECK(ranges_text(std::vector<int>{4}, ",") == "4");
  CHECK(ranges_text(std::vector<int>{0, 1, 2, 3, 8}, ",") == "0-3,8");
  CHECK(ranges_text(std::vector<int>{0, 2, 3}, ", ") == "0, 2-3");
}

TEST_CASE("bytes are told in the largest unit, and counts in the right number") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(std::size_t{64} << 10) == "64 KiB");
  CHECK(bytes_text(std::size_t{3} << 19) == "1.5 MiB");
  CHECK(bytes_text(std::size_t{1} << 30) == "1 GiB");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(std::size_t{2}, "rank") == "2 ranks");
}

TEST_CASE("bytes go to hexadecimal digits and back") {
  const std::string bytes("\x00\x7f\xff\x10", 4);
  CHECK(to_hex(bytes) == "007fff10");
  CHECK(from_hex("007fff10") == bytes);
  CHECK(from_hex("007FFF10") == bytes);
  CHECK(from_hex("") == std::string());
  for (const char* text : {"0", "0g", "00 ", "+1"}) CHECK_FALSE(from_hex(text));
}

TEST_CASE("hashes are BLAKE2b") {
  // python3: hashlib.blake2b(b"heddle", digest_size=32).hexdigest(), and with key=b"k" * 32.
  CHECK(digest("heddle") == "85ea16b471dda527");
  const Hash key = [] {
    Hash k;
    k.fill('k');
    return k;
  }();
  const Hash keyed = Hasher(key).add("hed").add("dle").finish();
  CHECK(to_hex({reinterpret_cast<const char*>(keyed.data()), keyed.size()}) ==
        "13cbc3efe5cd9da92f478807403239b2a67e8ada88c1ba74c34bb20073bfc36a");
  CHECK(same(keyed, Hasher(key).add("heddle").finish()));
  CHECK_FALSE(same(keyed, Hasher().add("heddle").finish()));
}

TEST_CASE("random bytes differ") {
  Hash a{}, b{};
  fill_random(a.data(), a.size());
  fill_random(b.data(), b.size());
  CHECK_FALSE(same(a, b));
}

}  // namespace
}  // namespace heddle::base
