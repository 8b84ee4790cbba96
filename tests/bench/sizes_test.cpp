#include "harness/sizes.hpp"
#include "catch.hpp"

using heddle::bench::parse_bytes;
using heddle::bench::part_count;
using heddle::bench::size_steps;
using Sizes = std::vector<std::size_t>;

TEST_CASE("sizes are numbers with powers of 1024") {
  const auto bytes = [](const char* text) {
    std::size_t value = 77;
    REQUIRE(parse_bytes(text, value));
    return value;
  };
  CHECK(bytes("0") == 0);
  CHECK(bytes("8") == 8);
  CHECK(bytes("64K") == 65536);
  CHECK(bytes("64k") == 65536);
  CHECK(bytes("1.5M") == 1572864);
  CHECK(bytes("2G") == 2147483648u);
}

TEST_CASE("what is not a size is refused") {
  for (const char* text : {"", "K", "8 K", "8KB", "-1", " 8", "1e3x", "8T", "nan", "inf", "0x10",
                           "99999999999999999999G"}) {
    CAPTURE(text);
    std::size_t value = 77;
    CHECK_FALSE(parse_bytes(text, value));
    CHECK(value == 77);
  }
}

TEST_CASE("sizes go by a factor or by a step") {
  CHECK(size_steps(8, 64, 1, 2) == Sizes{8, 16, 32, 64});
  CHECK(size_steps(8, 1000, 1, 8) == Sizes{8, 64, 512});
  CHECK(size_steps(8, 30, 10, 0) == Sizes{8, 18, 28});
  CHECK(size_steps(8, 8, 1, 2) == Sizes{8});
  CHECK(size_steps(0, 64, 1, 2) == Sizes{0});  // a factor never leaves 0
  CHECK(size_steps(std::size_t{1} << 63, SIZE_MAX, 1, 2) == Sizes{std::size_t{1} << 63});
}

TEST_CASE("a part for each rank is a multiple of 16 bytes") {
  CHECK(part_count(1048576, 4, 1) == 262144);
  CHECK(part_count(10, 4, 1) == 2);
  CHECK(part_count(1048576, 4, 4) == 65536);
  CHECK(part_count(1048576, 4, 3) == 87380);  // 87381.3 cut to a multiple of 4 elements
  CHECK(part_count(63, 4, 4) == 0);           // less than 16 bytes for each of 4 ranks
  CHECK(part_count(64, 4, 4) == 4);
  CHECK(part_count(100, 1, 3) == 32);
  CHECK(part_count(100, 8, 3) == 4);
}
